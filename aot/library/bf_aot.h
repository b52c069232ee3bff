#pragma once

// The library bf_aot::bf_aot: sound bounds of ONNX networks, and decisions of properties, in this
// process and without a C++ compiler.
//
// Every call is safe from several threads at once, on the same objects as well. No exception leaves
// a call, but those that a std::function of the caller's throws while it is copied: what goes wrong
// is an Error. There is no state outside of the objects. Objects are handles: a copy shares what
// was made, and it lives as long as one of them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The version of this header, which is that of the library: BF_AOT_VERSION_NUMBER is 10000 times
/// the first part, 100 times the second, and the third. The C interface, bf_aot.h, has the same.
#define BF_AOT_VERSION "0.2.0"
#define BF_AOT_VERSION_NUMBER 200

namespace bf_aot::api {

/// An error, with the code and the words that the program bf-aot prints for it.
struct Error {
  std::string code;           ///< stable: "BF1003"; all are in docs/reference/diagnostics.md
  std::string where;          ///< "Conv 'Conv_12' (node 7)", "box 3, input 0"; may be empty
  std::string message;        ///< what is wrong
  std::string hint;           ///< what to do about it; may be empty
  std::vector<Error> others;  ///< further errors of the same model

  /// The text "error BF1003: WHERE: MESSAGE\n  hint: HINT\n", followed by the texts of `others`.
  std::string text() const;
};

/// A value or an error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : either_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : either_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return either_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// The value of a result that is ok(). Any other result ends the program by std::abort().
  T& value() & { return checked<0>(either_); }
  const T& value() const& { return checked<0>(either_); }
  T&& value() && { return std::move(checked<0>(either_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error of a result that is not ok(). Any other result ends the program by std::abort().
  const Error& error() const { return checked<1>(either_); }

 private:
  template <std::size_t kIndex, class Either>
  static auto& checked(Either& either) {
    auto* const found = std::get_if<kIndex>(&either);
    if (found == nullptr) std::abort();
    return *found;
  }

  std::variant<T, Error> either_;
};

/// A tensor of a model; its elements are counted row-major.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Says what of a file is read.
struct Cut {
  /// Tensors that are to be the outputs instead of the file's own, in this order; what none of them
  /// depends on is not read.
  std::vector<std::string> outputs{};
  /// Tensors that are to be inputs, in this order, whatever makes them. Inputs of the file that
  /// something still depends on follow them.
  std::vector<std::string> inputs{};
  /// Shapes of inputs, by name, which the file may leave open.
  std::map<std::string, std::vector<std::int64_t>> shapes{};
  /// Inputs of token ids, by name: for each position, in row-major order, the ids that may stand
  /// there. Such an input becomes one-hot, with one axis more, of as many elements as the largest
  /// set has ids: the element of the id that stands at a position is 1, the others there are 0. See
  /// Model::token_sets(). Then all inputs are such or fixed (BF1029).
  std::map<std::string, std::vector<std::vector<std::int64_t>>> tokens{};
  /// Inputs of integers, by name, that are constants of the network, such as a mask.
  std::map<std::string, std::vector<std::int64_t>> fixed{};
};

/// The ends of a box, [inputs].
struct Ends {
  std::vector<float> lower, upper;
};

/// A network as it was read, immutable. Its numbers are exact: bounds hold for the network in real
/// arithmetic, not for one of its evaluations in floating point.
class Model {
 public:
  /// An ONNX or .nnet file, plain or compressed by gzip; external weights are read from its folder
  /// only. Errors: BF10xx, all problems of the file together.
  static Result<Model> load(const std::filesystem::path& path, const Cut& cut = {});

  /// Reads the model from memory, otherwise as load() does; external weights are refused. `name`
  /// stands in messages.
  static Result<Model> from_bytes(std::span<const std::byte> bytes,
                                  std::string_view name = "model.onnx", const Cut& cut = {});

  /// The network of partial derivatives on the same inputs: for each of `inputs`, elements counted
  /// over all input tensors, one output for each output y with all dy/dx_i. Bounds [l, u] of such
  /// an output on a box say that l t <= y(x + t e_i) - y(x) <= u t for all x and x + t e_i of the
  /// box, t >= 0, also where y has kinks; where l >= 0, y does not fall as x_i grows. Such a model
  /// has bounds by Semantics::kReal alone (BF3501). Errors: BF2120 operators that jump; BF2121
  /// inputs that do not exist, or more than 64.
  Result<Model> derivative(std::span<const std::size_t> inputs) const;

  const std::vector<Tensor>& inputs() const noexcept;
  const std::vector<Tensor>& outputs() const noexcept;

  /// The number of elements of all input tensors, and of all output tensors. The vectors x and y of
  /// the calls below hold the elements of the tensors one tensor after the other, in this order.
  std::size_t input_count() const noexcept;
  std::size_t output_count() const noexcept;

  /// The ids that Cut::tokens gave, by position; empty: it gave none. Bounds of such a network hold
  /// where one of them stands at each position, by methods kCrownIbp, kCrown and
  /// kAlphaCrown (BF2117); verify() reads properties whose inputs are the ids.
  const std::vector<std::vector<std::int64_t>>& token_sets() const noexcept;

  /// The box in which the ids of `sets` may stand at each position; all of token_sets() where it is
  /// empty. Errors: BF3021 other numbers of positions, or ids that are not in token_sets().
  Result<Ends> box_of_ids(const std::vector<std::vector<std::int64_t>>& sets = {}) const;

  /// The number of elements of all constants of the network.
  std::size_t parameter_count() const noexcept;

  /// SHA-256 of the bytes that were read, as 64 hexadecimal digits.
  const std::string& sha256() const noexcept;

  struct State;  // not for callers

 private:
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend class Library;
  std::shared_ptr<const State> state_;
};

/// The method by which bounds are made; see docs/guide/methods.md. From fast to tight: intervals
/// (kIbp); backward passes of the outputs over intervals of the neurons (kCrownIbp); backward
/// passes of every neuron that needs one (kCrown); the same with optimised slopes (kAlphaCrown).
/// kForward is for dense layers with ReLU alone.
enum class Method : std::uint8_t { kIbp, kCrownIbp, kCrown, kAlphaCrown, kForward };

/// The rows for which kAlphaCrown optimises slopes: those of the outputs and of the specification,
/// or those of unstable hidden neurons, too, which is tighter and takes longer.
enum class AlphaRows : std::uint8_t { kOutputs, kAll };

/// The method's name as the program's --method takes it: "crown-ibp".
const char* to_string(Method method) noexcept;

/// The method that the program's --method takes a text for: its name in any case, with "_" for "-"
/// ("CROWN_IBP"), or "crown-optimized", which is kAlphaCrown. None for any other text.
std::optional<Method> method_named(std::string_view name);

/// Rows C y - d that are bounded besides the outputs y; tighter than what follows from bounds of y.
struct Specification {
  std::vector<double> rows;     ///< C, row-major [rows, outputs]; finite
  std::vector<double> offsets;  ///< d, [rows]; empty: zeros
};

/// The evaluation of the network that bounds and verdicts hold for.
enum class Semantics {
  kReal,     ///< the network in exact real arithmetic
  kFloat32,  ///< every evaluation in float32: in any order of its sums, with fused multiply-adds or
             ///< without. For the operators that it covers (BF2110)
  kFloat32Flushed,  ///< kFloat32 where any operation may take subnormal numbers for zero
  kFloat32Exact,    ///< what Verifier::evaluate makes of the network, in its own order of sums
                    ///< (BF2110)
  kQuantisedAny,  ///< the network in exact real arithmetic, but each code that it rounds to is any
                  ///< of the nearest one and the two beside it
};

/// The part of a box { x : lower <= x <= upper } that bounds hold for. With the box's centre c and
/// half widths r it is all of the box; the ellipsoid sum_k ((x_k - c_k) / r_k)^2 <= 1; or the
/// cross-polytope sum_k |x_k - c_k| / r_k <= 1. When the box is a cube, these are balls of the
/// three norms. Inputs with r_k = 0 stay at c_k.
enum class Norm : std::uint8_t { kLinf, kL2, kL1 };

/// The norm ("linf", "l2", "l1") and the semantics ("real", "float32", "float32-exact",
/// "quantised-any") that a text names, in any case, as --norm and --semantics of the program take
/// them. None for any other text.
std::optional<Norm> norm_named(std::string_view name);
std::optional<Semantics> semantics_named(std::string_view name);

/// An option that `more` of the structs below takes.
struct OptionInfo {
  std::string name;                  ///< "row_tile"
  std::string help;                  ///< as the program's --help-all has it
  std::vector<std::string> choices;  ///< the names of its values; empty: it takes other texts
  bool of_decisions = false;         ///< of VerifyOptions alone
};
std::vector<OptionInfo> option_infos();

struct Options {
  Method method = Method::kCrown;
  Semantics semantics = Semantics::kReal;
  Norm norm = Norm::kLinf;                ///< others need kCrownIbp, kCrown or kAlphaCrown (BF2117)
  int iterations = 20;                    ///< for kAlphaCrown: 1 to 1000
  AlphaRows alpha = AlphaRows::kOutputs;  ///< for kAlphaCrown
  int row_tile = 0;                ///< rows of backward bounds made together, 2 to 2^20; 0 chooses
  std::int64_t memory_budget = 0;  ///< bytes of one workspace; 0: none
  int batch = 1;                   ///< boxes that a workspace has room for, 1 to 65536
  int threads = 1;                 ///< most that share a call of many boxes, 1 to 256

  /// Options by their names, as the program and its --config take them: {"row_tile", "16"},
  /// {"disable_pass", "a,b"}. What is here wins. Error BF3501 names an unknown one and those that
  /// there are, or what a value must be.
  std::map<std::string, std::string> more = {};
};

/// Bounds of every row on every box, in row-major arrays [boxes, rows].
struct Bounds {
  std::size_t boxes = 0;
  std::size_t rows = 0;
  std::vector<float> lower, upper;

  /// [boxes], the method that bounded each box: the verifier's, or with Call::timeout_seconds one
  /// that takes less time.
  std::vector<Method> methods;
};

/// The progress of a call.
struct Watched {
  std::size_t done = 0;            ///< boxes that `method` has bounded
  double share = 0;                ///< done part of the predicted time of all boxes, 0 to 1
  Method method = Method::kCrown;  ///< the method at work, to which `done` and `share` refer
};

/// Functions and limits by which the caller watches a call and ends it.
struct Call {
  /// Called between groups of boxes (of `batch` at most, or as many as a device is given), and at
  /// the end, with those that are done, on the call's own thread. What it throws is error BF3505.
  std::function<void(std::size_t done)> progress = {};

  /// Called when `progress` is, and also within a box: between tiles of rows, some 50 times a
  /// second.
  std::function<void(const Watched&)> watch = {};

  /// Ends the call, between tiles of rows, or groups of a device, with error BF3506.
  std::stop_token stop = {};

  /// Seconds after which no box is bounded by the verifier's method; 0: never. All boxes are then
  /// bounded by the cheapest method first (kIbp; with other norms kCrownIbp), which is never
  /// stopped, and by the methods between it and the verifier's where there is time. Verifiers of
  /// these methods are made when they are first needed, and kept.
  double timeout_seconds = 0;
};

/// Boxes in the memory of the device that bounds them, which are not copied: float32, [boxes,
/// inputs], row-major, of its primary context.
struct DeviceBoxes {
  std::size_t boxes = 0;
  const float* lower = nullptr;
  const float* upper = nullptr;
  void* stream = nullptr;  ///< a cudaStream_t that orders the call; null: the default stream
};

/// Bounds of one network by one method.
///
/// Each call takes a workspace of workspace_bytes() from a pool, or makes one where all are in use;
/// they are given back to the system with the last copy of the verifier.
class Verifier {
 public:
  /// Plans the work. Takes seconds for large networks.
  /// Errors: BF3501 an option; BF2007, BF2009 the specification; BF20xx, BF21xx the network cannot
  /// be bounded, or not within the budget; BF3504.
  static Result<Verifier> make(const Model& model, const Options& options = {},
                               const Specification& specification = {});

  std::size_t input_count() const noexcept;
  std::size_t output_count() const noexcept;
  std::size_t spec_rows() const noexcept;  ///< 0: there is no specification
  std::size_t workspace_bytes() const noexcept;

  /// Seconds that bounds() of one box, or spec_bounds() where there are rows, take on this machine
  /// by one thread: predicted, with half of all neurons unstable.
  double predicted_seconds() const noexcept;

  /// Bounds of the outputs on boxes { x : lower <= x <= upper }: lower and upper are [boxes,
  /// inputs], row-major, finite. For every real x in a box, lower <= y <= upper in each output of
  /// the network in real arithmetic: all rounding is outward, of weights as well. Where no finite
  /// float32 bounds an output, its bound is infinite. The bounds of a box do not depend on the
  /// other boxes, nor on `threads`.
  /// Errors: BF3501 the timeout; BF3502 sizes; BF3503 a box, named by its index; BF3504; BF3505;
  /// BF3506; BF3306 the processor's floating-point mode does not keep IEEE arithmetic.
  Result<Bounds> bounds(std::span<const float> lower, std::span<const float> upper,
                        const Call& call = {}) const;

  /// Bounds for boxes of doubles: those on the least boxes of float32 numbers around them; with a
  /// norm other than kLinf, on boxes whose balls hold theirs.
  Result<Bounds> bounds(std::span<const double> lower, std::span<const double> upper,
                        const Call& call = {}) const;

  /// Bounds for boxes in the memory of a device of CUDA, of a verifier that was made for it by
  /// {"device", "cuda"}. They are those that bounds() gives. Errors: those of bounds(); BF3502 the
  /// verifier is not of such a device; BF3506 at once where a stop was asked for.
  Result<Bounds> bounds(const DeviceBoxes& boxes, const Call& call = {}) const;
  Result<Bounds> spec_bounds(const DeviceBoxes& boxes, const Call& call = {}) const;

  /// Bounds of the specification's rows; otherwise as bounds(). Errors: also BF3502 when there is
  /// no specification.
  Result<Bounds> spec_bounds(std::span<const float> lower, std::span<const float> upper,
                             const Call& call = {}) const;
  Result<Bounds> spec_bounds(std::span<const double> lower, std::span<const double> upper,
                             const Call& call = {}) const;

  /// Evaluates the network at points x, [points, inputs], in plain float32: rounded, without
  /// guarantee, but with Semantics::kFloat32Exact inside the bounds of every box that holds the
  /// point. Returns [points, outputs].
  Result<std::vector<float>> evaluate(std::span<const float> x) const;

  struct State;  // not for callers

 private:
  explicit Verifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend class Library;
  std::shared_ptr<const State> state_;
};

/// A decision of a property. kVerified: no input violates it, proven by bounds. kFalsified: an
/// input does, proven.
enum class Verdict : std::uint8_t { kVerified, kFalsified, kUnknown };

const char* to_string(Verdict verdict) noexcept;

/// The work that verify() is doing: bounding cases, searching them for a counterexample, splitting
/// boxes or neurons.
enum class Phase : std::uint8_t { kBound, kSearch, kSplit };

struct Progress {
  Phase phase = Phase::kBound;
  std::size_t cases_done = 0, cases = 0;  ///< while kBound or kSearch
  std::uint64_t boxes = 0;  ///< while kSplit: boxes, or nodes of neuron splits, bounded so far
  double proven = 0;        ///< while kSplit: the proven part of all cases, 0 to 1
};

/// The time at which a C++ compiler of this machine makes code for the calls that take most of a
/// verifier's time. kOff: never. kAuto: in the background, once these calls have taken long enough
/// to pay for it, where there is a compiler. kWait: before they go on (BF3202 without a compiler).
/// The last bits of bounds may differ, since compilers fuse products into sums; bounds count those
/// roundings in any case.
enum class Jit : std::uint8_t { kOff, kAuto, kWait };

struct VerifyOptions {
  /// A query about float32 is decided by kFloat32 in any case.
  Semantics semantics = Semantics::kReal;
  std::optional<Method> method;    ///< none: kCrown, after kIbp for many cases or large networks
  int iterations = 20;             ///< as in Options
  int row_tile = 0;                ///< as in Options
  std::int64_t memory_budget = 0;  ///< as in Options
  AlphaRows alpha = AlphaRows::kOutputs;  ///< for a given `method` of kAlphaCrown
  Jit jit = Jit::kOff;
  /// Seconds spent at most on the search for a counterexample. None: 5, or, with a timeout, as many
  /// as it leaves.
  std::optional<double> search_seconds;
  /// Seconds spent at most on splits: of boxes where at most 16 inputs vary, else of neurons; 0:
  /// nothing is split. None: 20, or, with a timeout, as many as it leaves.
  std::optional<double> branch_seconds;
  double timeout_seconds = 0;  ///< after which verify() stops, as by `stop`; 0: never
  int jobs = 0;  ///< threads that bound and split, at most 256; 0: as many as there are cores

  /// A file that keeps the tree of the search, written every minute and when the search ends; where
  /// it is there, the search goes on from it. The program's --checkpoint has the same files. Then
  /// all is split that `branch_seconds` or the timeout leave time for. Errors: BF3017, BF3018 it is
  /// damaged, or about another question; BF3020 where nothing is split.
  std::filesystem::path checkpoint;

  /// Where a certificate of the answer is written, for the program bf-check, compressed where the
  /// name ends in ".gz"; "-": VerifyResult::proof has its bytes; empty: none is made. What it is
  /// about are the bytes of models and property, of their files or as they were given. Errors,
  /// before anything is decided: BF3022 the checker takes no such model or property; BF3024
  /// float32 with subnormals flushed or as the verifier has it, or a model of which a part is read.
  std::filesystem::path proof;
  double proof_seconds = 0;  ///< most, to make the certificate after deciding; 0: no limit

  /// Options by name, see Options::more; also those of decisions: "timeout", "jit", "cxx", ...
  std::map<std::string, std::string> more = {};

  /// Called now and then, on the thread that called verify(). What it throws is error BF3505.
  std::function<void(const Progress&)> progress;

  /// Ends verify() with kUnknown: between boxes, and between passes while a verifier is planned.
  std::stop_token stop;

  /// Others than kLinf: the question is about the ball of each case's box. Errors: BF2117 with a
  /// method that has no bounds of balls, a checkpoint, a certificate, or several networks.
  Norm norm = Norm::kLinf;
};

/// A network of a query about several, and how many elements its inputs and its outputs have.
struct NetworkShare {
  std::string name;
  std::size_t inputs = 0, outputs = 0;
};

/// An input that violates the property, proven on the network as it was read, in arithmetic that
/// counts every rounding.
struct Counterexample {
  std::vector<double> input;             ///< [inputs]; exact, or rounded where no double is inside
  std::vector<std::string> exact_input;  ///< [inputs], exact: "0.25", "2.5e-12", or "1/3"
  std::vector<double> output;            ///< [outputs], rounded
  std::size_t property_case = 0;         ///< index among the property's cases
  std::size_t clause = 0;                ///< of that case; all its conditions hold
  bool rational = false;                 ///< proven in rationals; else in double with error bounds

  /// The networks of a query about several, in its order: the inputs of all stand one after the
  /// other, and so do the outputs. Empty with one network.
  std::vector<NetworkShare> networks = {};
};

/// A certificate of an answer: see VerifyOptions::proof.
struct Proof {
  std::uint64_t bytes = 0, leaves = 0;  ///< not compressed
  double seconds = 0;                   ///< that it took, after deciding
  std::string missing;                  ///< why none was made, in words; empty: it was
  std::string certificate;              ///< where VerifyOptions::proof is "-"
  bool rechecked = false;               ///< it was there, and was checked: option "recheck"
};

struct VerifyResult {
  Verdict verdict = Verdict::kUnknown;
  bool stopped = false;                          ///< unknown, as a stop or the timeout ended it
  std::optional<Counterexample> counterexample;  ///< when falsified
  std::size_t cases = 0, verified_cases = 0;     ///< boxes of the property
  std::vector<Method> methods;                   ///< that were run, in order
  std::uint64_t boxes = 0, points = 0;           ///< bounded and tried while splitting boxes
  std::uint64_t nodes = 0;                       ///< bounded while splitting neurons
  std::uint64_t difference_boxes = 0;            ///< in which a difference of networks was bounded
  double seconds = 0;                            ///< in all
  double plan_seconds = 0;                       ///< part of `seconds` spent planning verifiers
  std::optional<Proof> proof;                    ///< where one was asked for and there is an answer
};

/// Decides a property in VNN-LIB 1.0, or in 2.0 about one network. A property states what
/// must not happen. What a file may hold is in docs/reference/properties.md.
/// Errors: BF34xx the property, BF3408 it is about another network; those of Verifier::make;
/// BF3505. An error is never a verdict.
Result<VerifyResult> verify(const Model& model, const std::filesystem::path& property,
                            const VerifyOptions& options = {});

/// Decides a property given as text, otherwise as verify() does. `name` stands in messages.
Result<VerifyResult> verify_text(const Model& model, std::string_view property,
                                 const VerifyOptions& options = {},
                                 std::string_view name = "property.vnnlib");

/// Models by the names of the networks that a query of VNN-LIB 2.0 declares.
using Networks = std::map<std::string, Model>;

/// Decides a query about one network or several, as the program does with --network:
/// docs/reference/properties.md, "Several networks". A network that is `equal-to` another needs no
/// model of its own. Errors: also BF3413 other names than the query declares; BF3415 networks that
/// are not as equal as it says; of several networks BF3020 with a checkpoint, BF2117 of token ids.
Result<VerifyResult> verify(const Networks& networks, const std::filesystem::path& query,
                            const VerifyOptions& options = {});

/// Decides a query given as text.
Result<VerifyResult> verify_text(const Networks& networks, std::string_view query,
                                 const VerifyOptions& options = {},
                                 std::string_view name = "query.vnnlib");

struct CompareOptions {
  /// Semantics, method of the bounds (none: kAlphaCrown), jobs, stop, options by name. A timeout
  /// and files of one decision are error BF3501.
  VerifyOptions verify = {};
  std::optional<double> within;  ///< decide whether every output differs by at most so much
  bool classes = false;          ///< decide whether both networks have the same largest output
  double seconds = 20;           ///< most, to bring `proven` and `attained` together
};

/// Statements about second - first for every input of the box.
struct CompareResult {
  std::vector<double> lower, upper;      ///< [outputs], of the difference
  double proven = 0;                     ///< no output differs by more
  double attained = 0;                   ///< output `output` differs by so much at `point`, proven
  std::size_t output = 0;                ///< meaningful where `attained` is not 0
  std::vector<double> point;             ///< [inputs]; empty where `attained` is 0
  std::vector<std::string> exact_point;  ///< the same, exact, as Counterexample::exact_input
  std::optional<VerifyResult> within;    ///< of CompareOptions::within
  std::optional<VerifyResult> classes;   ///< of CompareOptions::classes
  double seconds = 0;                    ///< in all
};

/// Bounds how far the outputs of two networks are apart in a box: docs/guide/compare.md. lower,
/// upper: [inputs]. The result is that of `bf-aot compare`.
/// Errors: BF3416 networks of other inputs or outputs; BF3501 an option; BF3502, BF3503 the box;
/// those of verify().
Result<CompareResult> compare(const Model& first, const Model& second,
                              std::span<const double> lower, std::span<const double> upper,
                              const CompareOptions& options = {});

/// The answer to a question about a closed loop. kBounded: nothing is required, and the tube holds
/// every trajectory.
enum class ReachAnswer : std::uint8_t { kVerified, kFalsified, kUnknown, kBounded };

const char* to_string(ReachAnswer answer) noexcept;

struct ReachProgress {
  std::uint64_t tubes = 0;  ///< that were computed
  double proven = 0;        ///< part of the initial box, 0 to 1
};

struct ReachOptions {
  /// Networks by the paths that the question names them by; others are read from files.
  std::map<std::string, Model> networks = {};
  Semantics semantics = Semantics::kReal;  ///< of the controller
  Method method = Method::kCrown;          ///< of the controller's bounds
  double seconds = 60;                     ///< most; then the answer is kUnknown
  int jobs = 0;                            ///< threads, at most 256; 0: as many as there are cores
  int order = 0;                           ///< of Taylor polynomials in time, at most 32; 0 chooses
  int symbols = 0;                         ///< that states keep in common, at most 4096; 0 chooses
  bool drawing = false;                    ///< also draw the tube
  /// Options of the plan of the controller, by name, see Options::more.
  std::map<std::string, std::string> more = {};
  /// Called now and then, on the thread that called reach(). What it throws is error BF3505.
  std::function<void(const ReachProgress&)> progress = {};
  std::stop_token stop = {};  ///< ends reach() with kUnknown
};

struct ReachResult {
  ReachAnswer answer = ReachAnswer::kUnknown;
  std::string json;  ///< all of it, as `bf-aot reach --json` prints it: docs/reference/json.md
  std::string svg;   ///< the drawing, where there is one
  double seconds = 0;
};

/// Bounds a controller in its plant over time, and decides what the question requires:
/// docs/guide/loops.md. The result is that of `bf-aot reach`.
/// Errors: BF30xx the file; BF36xx what does not fit together; BF3501 an option; those of reading
/// and planning networks.
Result<ReachResult> reach(const std::filesystem::path& question, const ReachOptions& options = {});

/// Answers a question that is given as text. folder: that paths of networks start from.
Result<ReachResult> reach_text(std::string_view question, const ReachOptions& options = {},
                               const std::filesystem::path& folder = {},
                               std::string_view name = "reach.json");

/// The arithmetic that compiled code computes with.
enum class Arithmetic : std::uint8_t { kFloat, kInteger, kAuto };

/// Returns the arithmetic of a name, "float", "integer" or "auto" in any case; nothing for another
/// text.
std::optional<Arithmetic> arithmetic_named(std::string_view name);

/// Options of compile(), which makes a verifier in C++ as the program bf-aot writes it.
struct CodeOptions {
  Options plan;                 ///< `threads`: workers that may share the work of a call
  std::string target = "host";  ///< "cortex-m4", ...: docs/reference/targets.md
  std::optional<int> items;     ///< of the group that bounds a box on a device, 1 for processors
  Arithmetic arithmetic = Arithmetic::kFloat;
  std::string name;      ///< prefix of the symbols; empty: from the model's file name
  std::string property;  ///< a property in VNN-LIB, instead of a specification; or empty
  std::optional<std::filesystem::path> property_file;  ///< the property as a file
  bool decide = false;                                 ///< with a property: NAME_decide, too
  bool single_file = false;  ///< the source and its header hold what they need of the runtime
  bool dispatch = false;     ///< code for each x86-64 level up to the target, chosen at run time

  // These are for compile_to_files() alone.
  bool library = false;                ///< also libSTEM.a, by a C++ compiler
  std::string cxx;                     ///< the compiler; empty: $CXX, else the first that is found
  std::vector<std::string> cxx_flags;  ///< given to the compiler besides those that it needs
};

struct File {
  std::string name;  ///< "monitor.cpp"
  std::string bytes;
};

/// The files of a verifier: STEM.cpp, of devices' targets STEM.cl or STEM.cu, STEM.h, its manifest
/// STEM.json and, of large networks, tables. The same model and options give the same bytes on
/// every machine, `target` "host" aside. Errors: BF3501, BF20xx, BF21xx as Verifier::make; BF31xx
/// names, BF3104 no level of x86-64; BF34xx the property.
Result<std::vector<File>> compile(const Model& model, std::string_view stem,
                                  const CodeOptions& options = {},
                                  const Specification& specification = {});

/// Writes the files that compile() makes to the folder of `source`, whose name ends in ".cpp", in
/// ".c" for C99, ".cl" for OpenCL or ".cu" for CUDA: all files, or none on an error. Returns their
/// paths. Errors: also BF3101 to BF3103 the folder; BF3112 what C and devices do not have, and a
/// target of another language; BF3111 a file is the model's own; BF32xx the compiler.
Result<std::vector<std::filesystem::path>> compile_to_files(
    const Model& model, const std::filesystem::path& source, const CodeOptions& options = {},
    const Specification& specification = {});

/// A page in HTML, in one file, about the plan of a verifier: network, tasks, memory over time,
/// kernels, and on sample boxes, [boxes, inputs], the bounds of each layer. Errors: those of
/// Verifier::make; BF3502; BF3503.
Result<std::string> report(const Model& model, const Options& options = {},
                           const Specification& specification = {},
                           std::span<const double> lower = {}, std::span<const double> upper = {});

/// A share of a box's volume: exact, "3/4", and as the nearest double.
struct Share {
  std::string exact;
  double value = 0;
};

/// A part of a box, between ends of each input.
struct BoxCell {
  std::vector<float> lower, upper;  ///< [inputs]
};

/// The box of a case in parts, by their share of its volume over the inputs that vary. The shares'
/// sum is 1.
struct MeasuredCase {
  Share proven;   ///< in which nothing violates the property
  Share refuted;  ///< in which everything does
  Share open;     ///< of which neither is proven
  std::uint64_t bounded = 0;
  bool reached = false;  ///< `open` is at most the width
  std::vector<BoxCell> refuted_cells, open_cells;
};

struct MeasureResult {
  std::vector<MeasuredCase> cases;  ///< of the property, in its order
  double seconds = 0;
};

struct MeasureOptions {
  std::string width = "0.01";  ///< the open share of each case at which it ends, as typed
  VerifyOptions verify;        ///< semantics, method, timeout, jobs, stop
};

/// Splits the boxes of a property until at most `width` of each is open, or a stop or the timeout.
/// The result depends on neither threads nor time as long as none of these ends it. At most 16
/// inputs may vary. Errors: BF3020 more of them vary; BF3501 the width; those of verify().
Result<MeasureResult> measure(const Model& model, const std::filesystem::path& property,
                              const MeasureOptions& options = {});
Result<MeasureResult> measure_text(const Model& model, std::string_view property,
                                   const MeasureOptions& options = {},
                                   std::string_view name = "property");

/// The verdict on a classifier's answer in a box about a sample. The answer at x is the class of
/// the largest output; a tie answers no class.
enum class Robustness : std::uint8_t {
  kCertified,  ///< everywhere in the box it is the label; proven by bounds
  kFalsified,  ///< somewhere in the box it is not; proven
  kUnknown,
  kWrong,  ///< it is not at the sample itself, evaluated in float32, or ties there with another
           ///< class (then margin is 0): nothing is proven of the box
};

const char* to_string(Robustness robustness) noexcept;

/// Work that may decide a sample, from the cheapest on: evaluating it, a short search for a
/// counterexample, bounds by a method, and verify(), which searches and splits.
enum class Stage : std::uint8_t {
  kSample,
  kAttack,
  kIbp,
  kCrownIbp,
  kForward,
  kCrown,
  kAlphaCrown,
  kSplit
};
constexpr std::size_t kStages = 8;

/// "sample", "attack", "ibp", "crown-ibp", "forward", "crown", "alpha-crown", "split".
const char* to_string(Stage stage) noexcept;
std::optional<Stage> stage_named(std::string_view name);

/// The stages of a whole run: kAttack, kIbp, kCrownIbp, kCrown, kAlphaCrown and kSplit.
const std::vector<Stage>& complete_stages();

struct CertifyOptions {
  Options bounds;             ///< method, semantics, batch and threads
  bool decide = false;        ///< verify() each sample that bounds leave open
  double decide_seconds = 5;  ///< for each sample at most; more than 0
  std::stop_token stop;       ///< samples that are open then stay kUnknown

  /// In order, after kSample: all samples go through a stage before any that is left open goes
  /// through the next one. kAttack waits for bounds behind it that take less time. Empty:
  /// `bounds.method`, and kSplit with `decide`. Else bounds are left out that would take longer
  /// than `decide_seconds` a sample, and kIbp of balls.
  std::vector<Stage> stages = {};
};

struct CertifiedSample {
  Robustness robustness = Robustness::kUnknown;
  std::size_t answer = 0;  ///< class of the largest output at the sample, evaluated in float32
  std::size_t rival = 0;   ///< the class that comes closest to the label

  /// A lower bound, in the box, of output[label] - output[rival], which is the least over all
  /// rivals; with kWrong the difference at the sample, rounded.
  float margin = 0;

  /// [inputs], with kFalsified: the doubles nearest to the proven input.
  std::vector<double> counterexample;

  Stage stage = Stage::kSample;  ///< the last that it went through: the one that decided it
  /// The time of one thread, by stage; a sample has its part of what bounds many together.
  std::array<double, kStages> seconds = {};
};

/// Functions and limits by which the caller watches certify() and ends it.
struct CertifyCall {
  /// Called with each sample as it is decided, one call at a time, on any thread.
  std::function<void(std::size_t sample, const CertifiedSample& found)> decided = {};
  /// Asked before kAttack or kSplit of a sample: false leaves it open. Called as `decided`.
  std::function<bool(std::size_t sample)> wanted = {};
  /// For all samples; 0: no limit. Samples that bounds come closest to certify are split first,
  /// each for a tenth of `decide_seconds` before any has all of them.
  double timeout_seconds = 0;
  std::stop_token stop = {};  ///< as that of CertifyOptions, of this call alone
};

/// Inputs of a sample that keep its answer: with these at the sample's values, and all others
/// anywhere in its box, the answer is the label, proven.
struct Explanation {
  bool exists = false;             ///< false: the sample's own answer is not proven the label
  std::vector<std::size_t> fixed;  ///< ascending; empty: the sample is certified
  /// There is a counterexample without any one of `fixed`, proven.
  bool minimal = false;
  /// No smaller set keeps the answer, proven: all of them were tried, of at most 12 inputs that
  /// vary.
  bool smallest = false;
  std::uint64_t questions = 0;  ///< boxes that were asked about
};

/// Widens boxes [boxes, inputs] whose ends were rounded outward to float32, each by two steps at
/// most, until the ball of each holds that of the box before it was rounded, of which the rounding
/// moved the centre. Verifiers do so themselves with boxes of doubles. Norm::kLinf leaves them.
void hold_balls(std::span<float> lower, std::span<float> upper, std::size_t inputs, Norm norm);

/// Samples and the boxes about them, as row-major arrays [samples, inputs]. Each sample lies in its
/// box. With another norm than Norm::kLinf boxes are those that hold_balls() makes.
struct SampleBoxes {
  std::span<const float> samples, lower, upper;

  /// Boxes of doubles inside the sets that the boxes of float32 numbers enclose; counterexamples
  /// are taken from them. A sample whose lower end exceeds the upper one in an input has none.
  /// Empty: the boxes themselves.
  std::span<const double> inner_lower = {}, inner_upper = {};

  /// Boxes that counterexamples of balls lie in, too: the range of inputs, by which a ball is not
  /// cut. Empty: there are none.
  std::span<const double> range_lower = {}, range_upper = {};
};

/// Local robustness of a classifier, whose outputs are one number for each class. Verifiers are
/// made when samples first need them, and kept: one with the differences of all pairs of up to 16
/// classes, beyond that one for each label.
class Certifier {
 public:
  /// Errors: BF3501 an option, or a model with fewer than two outputs.
  static Result<Certifier> make(const Model& model, const CertifyOptions& options = {});

  /// Classifies the samples. labels: [samples], classes from 0. The results are in the order of the
  /// samples, and none depends on another. Errors: BF3502 sizes; BF3503 a box or sample, or a label
  /// that is no class; those of Verifier::make, Verifier::bounds and verify().
  Result<std::vector<CertifiedSample>> certify(const SampleBoxes& boxes,
                                               std::span<const std::size_t> labels,
                                               const CertifyCall& call = {}) const;

  /// Looks for a small set of inputs that keep the answer of one sample in its box. Inputs are
  /// freed one after the other, those of the least influence first, as long as the answer is
  /// proven. Errors: those of certify(); BF3502 there is another number of samples than one.
  Result<Explanation> explain(const SampleBoxes& box, std::size_t label) const;

  struct State;  // not for callers

 private:
  explicit Certifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend class Library;
  std::shared_ptr<const State> state_;
};

/// Disturbances of pictures, and how a picture's numbers become inputs of the model: those of a
/// pixel and channel are divided by `scale`, disturbed, cut at `clip`, and normalised by `mean` and
/// `deviation`. All numbers are exact decimals or quotients, "0.1307" or "8/255".
struct DisturbOptions {
  /// "rotation=-5..5", "occlusion=3": docs/guide/disturbances.md has the kinds and what they are.
  std::vector<std::string> disturbances = {};
  std::size_t channels = 1, height = 1, width = 1;
  bool channels_last = false;  ///< the model's order is [height, width, channels]

  std::string scale = {};                              ///< empty: 1
  std::vector<std::string> clip = {};                  ///< least and largest valid number, or empty
  std::vector<std::string> mean = {}, deviation = {};  ///< one, one a channel, or one an input

  Options bounds;      ///< of Semantics::kReal and Norm::kLinf
  double seconds = 5;  ///< of one thread, for each sample
};

/// A verdict on a picture for all disturbances of the range.
struct DisturbedSample {
  Robustness robustness = Robustness::kUnknown;  ///< kWrong: at the undisturbed picture
  std::size_t answer = 0;                        ///< at the undisturbed picture
  std::size_t rival = 0;                         ///< the class that comes closest to the label
  float margin = 0;       ///< a lower bound of output[label] - output[rival], the least
  double certified = 0;   ///< share of the range that is certified
  std::size_t cells = 0;  ///< parts of the range that were bounded
  double seconds = 0;     ///< of one thread

  /// With kFalsified: the doubles nearest to proven parameters, and to the disturbed input.
  std::vector<double> parameters;
  std::vector<double> counterexample;
};

struct DisturbCall {
  /// Called with each sample as it is decided or given up, on the thread that made the call.
  std::function<void(std::size_t sample, const DisturbedSample& found)> done = {};
  std::stop_token stop = {};  ///< samples that are open then stay kUnknown
};

/// Robustness of a classifier of pictures under disturbances with one to three parameters. The
/// range of the parameters is split; lines in the parameters, with proven remainders, enclose the
/// pictures of each part. Every disturbance of the range is certified in exact real arithmetic.
class DisturbanceCertifier {
 public:
  /// Errors: BF3013 disturbances; BF3501 an option, or pictures of another size than the input;
  /// those of Certifier::make.
  static Result<DisturbanceCertifier> make(const Model& model, const DisturbOptions& options);

  /// The parameters, in the order of DisturbedSample::parameters: "rotation", "occlusion row".
  const std::vector<std::string>& parameters() const noexcept;

  /// pictures: [samples, inputs], in the model's order, as they are stored; labels: [samples].
  /// Errors: BF3502 sizes; BF3503 a number that is not finite or outside `clip`, or a label that is
  /// no class; BF3007; those of Verifier::bounds.
  Result<std::vector<DisturbedSample>> certify(std::span<const double> pictures,
                                               std::span<const std::size_t> labels,
                                               const DisturbCall& call = {}) const;

  struct State;  // not for callers

 private:
  explicit DisturbanceCertifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  friend class Library;
  std::shared_ptr<const State> state_;
};

}  // namespace bf_aot::api
