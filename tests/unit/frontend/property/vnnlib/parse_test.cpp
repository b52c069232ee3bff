#include <gtest/gtest.h>
#include <zlib.h>

#include <ctime>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"
#include "frontend/property/vnnlib/source.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/support/model_text.h"
#include "tests/support/property_text.h"

namespace bf_aot {
namespace {

const std::string kTwoInputs =
    "(declare-const X_0 Real)(declare-const X_1 Real)\n"
    "(declare-const Y_0 Real)(declare-const Y_1 Real)\n";
const std::string kUnitBox =
    "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))(assert (<= X_1 1))\n";

Property parse(const std::string& text) {
  return parse_property(text, "p.vnnlib");
}

Property with_box(const std::string& asserts) {
  return parse(kTwoInputs + kUnitBox + asserts);
}

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

std::vector<mpq_class> outputs(double a, double b) {
  return {mpq_class(a), mpq_class(b)};
}

TEST(Vnnlib, OneBoxOneClause) {
  const Property p = with_box("(assert (<= Y_0 Y_1)) (assert (>= Y_0 -2.5))");
  EXPECT_EQ(p.input_count, 2);
  EXPECT_EQ(p.output_count, 2);
  ASSERT_EQ(p.cases.size(), 1u);
  EXPECT_EQ(p.cases[0].box, (Box{{0, 0}, {1, 1}}));
  EXPECT_EQ(p.cases[0].inner, p.cases[0].box);
  ASSERT_EQ(p.cases[0].clauses.size(), 1u);
  EXPECT_EQ(p.cases[0].clauses[0],
            (Clause{{0, false, false, 0}, {1, true, false, mpq_class(5, 2)}}));
  EXPECT_EQ(p.rows, (std::vector<PropertyRow>{{{{0, 1}, {1, -1}}}, {{{0, 1}}}}));
}

TEST(Vnnlib, MultiplesAndNegationsShareARow) {
  const Property p = with_box(
      "(assert (or (<= (* 2 Y_0) (+ Y_1 Y_1)) (>= Y_0 Y_1) (<= (- Y_1 Y_0) 3)"
      " (<= (/ Y_0 3) (+ 1 (/ Y_1 3)))))");
  EXPECT_EQ(p.rows.size(), 1u);
  ASSERT_EQ(p.cases[0].clauses.size(), 4u);
  EXPECT_EQ(p.cases[0].clauses[1][0], (Condition{0, true, false, 0}));
  EXPECT_EQ(p.cases[0].clauses[2][0], (Condition{0, true, false, 3}));
  EXPECT_EQ(p.cases[0].clauses[3][0], (Condition{0, false, false, 3}));
}

TEST(Vnnlib, ConstantsMayStandOnEitherSide) {
  const Property left = parse(kTwoInputs +
                              "(assert (<= 0 X_0))(assert (>= 1 X_0))(assert (<= 0 X_1 1))"
                              "(assert (>= 3 Y_0))");
  const Property right = with_box("(assert (<= Y_0 3))");
  EXPECT_EQ(left, right);
}

TEST(Vnnlib, AffineBoundsOfOneInput) {
  const Property p = parse(kTwoInputs +
                           "(assert (<= (+ (* 2 X_0) 1) 4))(assert (>= (- X_0) -9))"
                           "(assert (<= (- 1 X_0) 1))(assert (<= (* 3 X_1) 1))(assert (>= X_1 0))"
                           "(assert (<= Y_0 0))");
  ASSERT_EQ(p.cases.size(), 1u);
  EXPECT_EQ(p.cases[0].box.lower, (std::vector<double>{0, 0}));
  EXPECT_EQ(p.cases[0].box.upper[0], 1.5);
  EXPECT_GT(mpq_class(p.cases[0].box.upper[1]), mpq_class(1, 3));
  EXPECT_LT(mpq_class(p.cases[0].inner.upper[1]), mpq_class(1, 3));
}

TEST(Vnnlib, RepeatedBoundsIntersect) {
  const Property p = with_box("(assert (<= X_0 0.5))(assert (<= X_0 0.75))(assert (<= Y_0 0))");
  EXPECT_EQ(p.cases[0].box.upper[0], 0.5);
}

TEST(Vnnlib, BoxesEncloseDecimalsAndPointsStayExact) {
  const Property p = parse(kTwoInputs +
                           "(assert (>= X_0 0.1))(assert (<= X_0 0.1))(assert (>= X_1 0.1))"
                           "(assert (<= X_1 0.2))(assert (<= Y_0 0))");
  const PropertyCase& one = p.cases.at(0);
  EXPECT_LT(one.box.lower[0], one.box.upper[0]);
  EXPECT_GT(one.inner.lower[0], one.inner.upper[0]);
  EXPECT_EQ(one.between, (LinearForm{{0, mpq_class(1, 10)}}));
  EXPECT_LT(mpq_class(one.box.lower[1]), mpq_class(1, 10));
  EXPECT_GT(mpq_class(one.inner.lower[1]), mpq_class(1, 10));
}

TEST(Vnnlib, StrictBoundsLeaveTheirEndsOut) {
  const Property p = parse(kTwoInputs +
                           "(assert (> X_0 0))(assert (< X_0 1))(assert (>= X_1 0))"
                           "(assert (<= X_1 1))(assert (< Y_0 2))");
  const PropertyCase& one = p.cases.at(0);
  EXPECT_EQ(one.box, (Box{{0, 0}, {1, 1}}));
  EXPECT_FALSE(test::violates(p, {0, 0.5}, outputs(0, 0)));
  EXPECT_TRUE(test::violates(p, {5e-324, 0.5}, outputs(0, 0)));
  EXPECT_FALSE(test::violates(p, {0.5, 0.5}, outputs(2, 0)));
  EXPECT_TRUE(one.clauses[0][0].strict);
}

TEST(Vnnlib, EmptyRangesContributeNothing) {
  EXPECT_TRUE(with_box("(assert (>= X_0 2))(assert (<= Y_0 0))").cases.empty());
  EXPECT_TRUE(with_box("(assert (< X_0 0))(assert (<= Y_0 0))").cases.empty());
  EXPECT_TRUE(with_box("(assert (<= 1 0))").cases.empty());
  EXPECT_TRUE(with_box("(assert (or))").cases.empty());
  const Property p = with_box("(assert (or (and (>= X_0 2) (<= Y_0 0)) (<= Y_1 0)))");
  ASSERT_EQ(p.cases.size(), 1u);
  EXPECT_EQ(p.cases[0].clauses.size(), 1u);
}

// No double lies between these, yet they exclude each other.
TEST(Vnnlib, EmptyBetweenNeighbouringDoubles) {
  EXPECT_TRUE(with_box("(assert (>= X_0 0.10000000000000000000002))"
                       "(assert (<= X_0 0.10000000000000000000001))(assert (<= Y_0 0))")
                  .cases.empty());
}

TEST(Vnnlib, DisjunctsOverInputsBecomeCasesOfDistinctBoxes) {
  const Property p = parse(kTwoInputs +
                           "(assert (>= X_1 0))(assert (<= X_1 1))"
                           "(assert (or (and (>= X_0 0)(<= X_0 1)(<= Y_0 0))"
                           "(and (<= X_0 1.0)(>= X_0 0e3)(>= Y_0 5))"
                           "(and (>= X_0 2)(<= X_0 3)(<= Y_0 0))))");
  ASSERT_EQ(p.cases.size(), 2u);
  EXPECT_EQ(p.cases[0].clauses.size(), 2u);
  EXPECT_EQ(p.cases[1].clauses.size(), 1u);
  EXPECT_EQ(p.cases[1].box.lower[0], 2);
}

TEST(Vnnlib, SeveralOrsMultiplyOut) {
  const Property p = parse(kTwoInputs +
                           "(assert (>= X_1 0))(assert (<= X_1 1))"
                           "(assert (or (and (>= X_0 0)(<= X_0 1)) (and (>= X_0 2)(<= X_0 3))))"
                           "(assert (or (and (<= Y_0 0)) (and (<= Y_1 0)) (>= Y_0 Y_1)))");
  ASSERT_EQ(p.cases.size(), 2u);
  for (const PropertyCase& one : p.cases) EXPECT_EQ(one.clauses.size(), 3u);
}

TEST(Vnnlib, NestsArbitrarily) {
  const Property p = with_box(
      "(assert (and (or (<= Y_0 0) (and (>= Y_0 1) (or (<= Y_1 -1) (>= Y_1 1)))) (<= X_0 0.5)))");
  EXPECT_EQ(p.cases.at(0).clauses.size(), 3u);
  EXPECT_EQ(p.cases[0].box.upper[0], 0.5);
}

TEST(Vnnlib, NegationsImplicationsAndEqualities) {
  const Property p = with_box("(assert (not (or (<= Y_0 0) (>= Y_1 1))))");
  EXPECT_EQ(p.cases.at(0).clauses.at(0), (Clause{{0, true, true, 0}, {1, false, true, 1}}));
  EXPECT_EQ(with_box("(assert (=> (<= Y_0 0) (<= Y_1 0)))").cases.at(0).clauses.size(), 2u);
  EXPECT_EQ(with_box("(assert (= Y_0 1))").cases.at(0).clauses.at(0).size(), 2u);
  EXPECT_EQ(with_box("(assert (!= Y_0 1))").cases.at(0).clauses.size(), 2u);
  EXPECT_EQ(with_box("(assert (not (distinct Y_0 1)))").cases.at(0).clauses.at(0).size(), 2u);
  EXPECT_EQ(
      with_box("(assert (distinct Y_0 Y_1 1))"),
      with_box("(assert (distinct Y_0 Y_1))(assert (distinct Y_0 1))(assert (distinct Y_1 1))"));
  EXPECT_EQ(with_box("(assert (not (distinct Y_0 Y_1 1)))"),
            with_box("(assert (or (= Y_0 Y_1) (= Y_0 1) (= Y_1 1)))"));
  EXPECT_EQ(with_box("(assert (<= Y_0 Y_1 1))"),
            with_box("(assert (<= Y_0 Y_1))(assert (<= Y_1 1))"));
}

TEST(Vnnlib, RelationsOfInputsAreKeptExactly) {
  const Property p = with_box("(assert (<= (+ X_0 X_1) 1))(assert (<= Y_0 X_0))");
  ASSERT_EQ(p.cases.size(), 1u);
  EXPECT_TRUE(test::violates(p, {0.5, 0.5}, outputs(0.5, 0)));
  EXPECT_FALSE(test::violates(p, {0.75, 0.5}, outputs(0.5, 0)));
  EXPECT_FALSE(test::violates(p, {0.25, 0.5}, outputs(0.5, 0)));
  // What never or always holds in the box is decided at once.
  EXPECT_TRUE(with_box("(assert (>= (+ X_0 X_1) 3))").cases.empty());
  EXPECT_TRUE(with_box("(assert (<= X_0 (+ X_1 1)))").cases.at(0).clauses.at(0).empty());
}

TEST(Vnnlib, LayoutDoesNotMatter) {
  const Property plain = with_box("(assert (or (and (<= Y_0 0)(<= Y_1 0)) (<= Y_0 Y_1)))");
  std::string text = "; head\r\n;;;; or ;;;;\r\n" + kTwoInputs + kUnitBox +
                     "(assert(or(and(<= Y_0\t0)(<= Y_1 0)); inline\n(<= Y_0 Y_1)))";
  EXPECT_EQ(parse(text), plain);
  EXPECT_EQ(parse("(set-logic QF_LRA)(set-info :status unsat)" + text + "(check-sat)(exit)"),
            plain);
  std::string functions = text;
  for (std::size_t at; (at = functions.find("declare-const")) != std::string::npos;) {
    const std::size_t end = functions.find(" Real", at);
    functions.insert(end, " ()");
    functions.replace(at, 13, "declare-fun");
  }
  EXPECT_EQ(parse(functions), plain);
}

TEST(Vnnlib, RowsAsASpecification) {
  const Property p = with_box("(assert (<= (+ (* 0.1 Y_0) Y_1) 3))(assert (<= Y_0 1))");
  const LinearSpec spec = to_spec(p);
  EXPECT_EQ(spec.rows, (std::vector<std::vector<double>>{{1, 10}, {1, 0}}));
  EXPECT_TRUE(spec.row_error.empty() && spec.offset.empty());

  const Property fine = with_box("(assert (<= (+ Y_0 (* 0.12345678901234567 Y_1)) 3))");
  const LinearSpec rounded = to_spec(fine);
  ASSERT_EQ(rounded.row_error.size(), 1u);
  for (std::size_t i = 0; i < 2; ++i) {
    const mpq_class distance = abs(fine.rows[0].outputs[i].second - mpq_class(rounded.rows[0][i]));
    EXPECT_LE(distance, mpq_class(rounded.row_error[0][i]));
  }
  EXPECT_EQ(to_spec(with_box("(assert (<= X_0 0.5))")).rows.size(), 1u);
}

// What rounding takes from a row must reach the verifier's tables.
TEST(Vnnlib, RoundedRowsKeepTheirError) {
  const Property p = with_box("(assert (<= (+ Y_0 (* 0.12345678901234567 Y_1)) 3))");
  const LinearSpec spec = to_spec(p);
  Graph graph;
  const ValueId x = graph.add_value("x", {2});
  const ValueId y = graph.add_value("y", {2});
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes.push_back({Affine{{{2, 2}, {1, 0, 0, 1}, {}}, {{2}, {0, 0}, {}}}, {x}, y, "fc"});
  fold_output_spec(graph, spec);
  ASSERT_EQ(graph.outputs.size(), 2u);
  const Node& row =
      graph.nodes.at(static_cast<std::size_t>(producers(graph).at(index_of(graph.outputs[1]))));
  const Constant& weight = std::get<Affine>(row.op).weight;
  for (std::size_t i = 0; i < 2; ++i) {
    const mpq_class distance = abs(p.rows[0].outputs[i].second - mpq_class(weight.data.at(i)));
    EXPECT_EQ(distance > 0, i == 1) << "10^17 is a double, 12345678901234567 is none";
    EXPECT_LE(distance, mpq_class(weight.error_at(i)));
  }
}

// ---- VNN-LIB 2.0

const char* const kQuery = R"((vnnlib-version <2.0>)
(declare-network f
  (declare-input A Real [1, 2])
  (declare-output B real [2] "out"))
(assert (and (>= A[0,0] 0.0) (<= A[0, 0] 1.0) (<= 0 A[0,1]) (<= A[0,1] 1)))
(assert (== B[0] (- B[1] 2.5)))
)";

TEST(Vnnlib2, NetworksAndIndices) {
  const Property p = parse(kQuery);
  ASSERT_EQ(p.networks.size(), 1U);
  EXPECT_EQ(p.networks[0].name, "f");
  EXPECT_EQ(p.inputs, (std::vector<PropertyTensor>{{"A", "Real", {1, 2}, ""}}));
  EXPECT_EQ(p.outputs, (std::vector<PropertyTensor>{{"B", "real", {2}, "out"}}));
  EXPECT_EQ(p.cases.at(0).box, (Box{{0, 0}, {1, 1}}));
  EXPECT_EQ(p.rows, (std::vector<PropertyRow>{{{{0, 1}, {1, -1}}}}));
}

TEST(Vnnlib2, SeveralTensorsAreOneAfterAnother) {
  const Property p = parse(
      "(declare-network f (declare-input A Real [2])(declare-input s Real [])"
      "(declare-output Y Real [1]))"
      "(assert (and (<= 0 A[0] 1) (<= 0 A[1] 1) (<= 2 s 3)))(assert (<= Y[0] 0))");
  EXPECT_EQ(p.input_count, 3);
  EXPECT_EQ(p.cases.at(0).box, (Box{{0, 0, 2}, {1, 1, 3}}));
}

Graph two_by_two() {
  Graph graph;
  graph.inputs = {graph.add_value("in", {1, 1, 2})};
  graph.outputs = {graph.add_value("out", {1, 2})};
  return graph;
}

TEST(Vnnlib2, InterfaceMustFit) {
  EXPECT_NO_THROW(check_interface(parse(kQuery), two_by_two()));
  EXPECT_NO_THROW(check_interface(with_box("(assert (<= Y_0 0))"), two_by_two()));
  Graph other = two_by_two();
  other.values[1].name = "other";
  EXPECT_THROW(check_interface(parse(kQuery), other), CompileError);
  EXPECT_NO_THROW(check_interface(with_box("(assert (<= Y_0 0))"), other));
  Graph wide = two_by_two();
  wide.values[0].shape = {3};
  EXPECT_THROW(check_interface(parse(kQuery), wide), CompileError);
  EXPECT_THROW(check_interface(with_box("(assert (<= Y_0 0))"), wide), CompileError);
}

TEST(Vnnlib2, Float32IsForAllTensors) {
  EXPECT_FALSE(is_float32(parse(kQuery)));
  std::string text = kQuery;
  for (const char* const type : {"Real", "real"})
    for (std::size_t at = text.find(type); at != std::string::npos; at = text.find(type, at))
      text.replace(at, 4, "float32");
  EXPECT_TRUE(is_float32(parse(text)));
  text.replace(text.find("float32"), 7, "Real");
  EXPECT_NE(error_of(text).find("BF3409"), std::string::npos) << error_of(text);
}

TEST(Vnnlib2, OtherFloatTypesAreRefused) {
  std::string text = kQuery;
  text.replace(text.find("Real"), 4, "float16");
  EXPECT_NE(error_of(text).find("error BF3409: p.vnnlib:3:20: "), std::string::npos)
      << error_of(text);
}

// ---- limits

TEST(VnnlibLimits, ProductsAreRefusedBeforeTheyAreMade) {
  std::string text = kTwoInputs + kUnitBox;
  for (int i = 0; i < 60; ++i)
    text += "(assert (or (<= Y_0 0) (<= Y_1 " + std::to_string(i) + ")))";
  EXPECT_NE(error_of(text).find("BF3404"), std::string::npos);
  std::string nested = kTwoInputs + kUnitBox + "(assert (and";
  for (int i = 0; i < 60; ++i) nested += "(or (<= Y_0 0) (<= Y_1 " + std::to_string(i) + "))";
  EXPECT_NE(error_of(nested + "))").find("BF3404"), std::string::npos);
}

TEST(VnnlibLimits, DepthDoesNotEndTheStack) {
  const std::string open(1'000'000, '(');
  EXPECT_NE(error_of(kTwoInputs + "(assert " + open).find("BF34"), std::string::npos);
  std::string text = kTwoInputs + "(assert ";
  for (int i = 0; i < 100'000; ++i) text += "(not ";
  EXPECT_NE(error_of(text).find("BF3404"), std::string::npos);
  text = kTwoInputs + "(assert (<= 0 ";
  for (int i = 0; i < 100'000; ++i) text += "(+ 1 ";
  EXPECT_NE(error_of(text).find("BF3404"), std::string::npos);
}

TEST(VnnlibLimits, NumbersMayNotGrowWithoutEnd) {
  std::string text = kTwoInputs + kUnitBox + "(assert (<= Y_0 (*";
  for (int i = 0; i < 100'000; ++i) text += " 1.000000001";
  EXPECT_NE(error_of(text + ")))").find("BF3404"), std::string::npos);
}

// Truths in a large conjunction must not be multiplied with every case.
TEST(VnnlibLimits, TrivialPartsCostNothing) {
  std::string text = kTwoInputs + kUnitBox + "(assert (and (or";
  for (int i = 0; i < 100'000; ++i) text += "(<= Y_0 " + std::to_string(i) + ")";
  text += ")";
  for (int i = 0; i < 100'000; ++i) text += "(<= 0 1)";
  EXPECT_EQ(parse(text + "))").cases.at(0).clauses.size(), 100'000u);
}

// ---- compressed files

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string bytes(text.size() + 1000, '\0');
  std::string source = text;
  stream.next_in = reinterpret_cast<Bytef*>(source.data());
  stream.avail_in = static_cast<uInt>(source.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

TEST(VnnlibSource, ExpandsGzip) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string packed = gzip(text);
  EXPECT_EQ(vnnlib::expand(packed, 1 << 30, "p"), text);
  EXPECT_EQ(vnnlib::expand(packed + packed, 1 << 30, "p"), text + text);
  EXPECT_EQ(vnnlib::expand("plain", 1 << 30, "p"), "plain");
  EXPECT_EQ(vnnlib::expand(gzip(""), 1 << 30, "p"), "");
  for (const std::size_t cut : {std::size_t{3}, std::size_t{20}, packed.size() - 1})
    EXPECT_THROW(vnnlib::expand(packed.substr(0, cut), 1 << 30, "p"), CompileError) << cut;
  EXPECT_THROW(vnnlib::expand(gzip(std::string(1'000'000, ' ')), 10'000, "p"), CompileError);
}

// What a file says of its size is a guess.
TEST(VnnlibSource, ExpandsGzipWhateverItsEndSays) {
  const std::string text(1'000'000, ' '), packed = gzip(text);
  const auto expand = [](const std::string& bytes, std::uint64_t most) {
    return vnnlib::expand(bytes, most, "p").size();
  };
  EXPECT_EQ(expand(packed, text.size()), text.size());
  EXPECT_THROW(expand(packed, text.size() - 1), CompileError);
  for (const std::string& tail : {std::string(4, '\0'), std::string("????")}) {
    EXPECT_EQ(expand(packed + tail, text.size()), text.size());
    EXPECT_THROW(expand(packed + tail, text.size() - 1), CompileError);
  }
  EXPECT_EQ(expand(packed + gzip("x"), text.size() + 1), text.size() + 1);
  EXPECT_THROW(expand(packed + gzip("x"), text.size()), CompileError);
}

TEST(VnnlibSource, ReadsFiles) {
  const test::TempFolder folder;
  const std::string text = kTwoInputs + kUnitBox + "(assert (<= Y_0 0))";
  test::write_bytes(folder.path() / "p.vnnlib", text);
  test::write_bytes(folder.path() / "q.gz", gzip(text));
  Property packed = read_property(folder.path() / "q.gz");
  packed.file_name = "p.vnnlib";
  EXPECT_EQ(read_property(folder.path() / "p.vnnlib"), packed);
  EXPECT_THROW(read_property(folder.path() / "missing"), CompileError);
  EXPECT_THROW(read_property(folder.path()), CompileError);
}

// Time grows with the text: ten times the text may not cost more than forty times.
TEST(VnnlibSource, LongFilesTakeLinearTime) {
  const auto seconds = [](int disjuncts) {
    std::string text = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (or\n";
    for (int i = 0; i < disjuncts; ++i) {
      const std::string low = std::to_string(i) + ".1234567890123456";
      text +=
          "(and (>= X_0 " + low + ")(<= X_0 " + std::to_string(i + 1) + ")(<= Y_0 " + low + "))";
    }
    const std::clock_t start = std::clock();  // of this process: others may be at work
    EXPECT_EQ(parse(text + "))").cases.size(), static_cast<std::size_t>(disjuncts));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double small = seconds(10'000);
  EXPECT_LT(seconds(100'000), 40 * small + 0.5);
}

}  // namespace
}  // namespace bf_aot
