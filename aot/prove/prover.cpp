#include "aot/prove/prover.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "aot/check/certificate.h"
#include "aot/prove/pieces.h"
#include "aot/prove/tree_writer.h"

namespace bf_aot::prove {

using namespace bf_check;

namespace {

constexpr std::uint64_t kNodesPerPart = 8;

std::string number_text(std::uint64_t number) {
  std::string text;
  for (; number >= 128; number >>= 7) text += static_cast<char>((number & 127) | 128);
  return text + static_cast<char>(number);
}

Grid grid_of(const std::optional<unsigned>& ulps, unsigned value_bits) {
  Grid grid;
  grid.value_bits = value_bits;
  grid.float32 = ulps.has_value();
  grid.ulps = ulps.value_or(0);
  return grid;
}

std::string header_of(const ProofRequest& request, const Header& header) {
  std::string text = kMagic;
  text += static_cast<char>(header.statement);
  text += static_cast<char>(request.ulps ? bf_check::kFloat32 : bf_check::kReal);
  if (request.ulps) text += static_cast<char>(*request.ulps);
  for (const unsigned number :
       {header.grid.weight_bits, header.grid.value_bits, header.coefficient_bits})
    text += static_cast<char>(number);
  text += number_text(request.models.size());
  for (const std::string& model : request.models) text += sha256(model);
  text += sha256(request.property);
  const std::string tool = request.tool.substr(0, 127);
  return text + static_cast<char>(tool.size()) + tool;
}

// The writers of one certificate.
class Writers {
 public:
  Writers(const Question& question, std::string header,
          std::function<void(const std::string&)> write)
      : question_(question), pieces_(std::move(write)) {
    Pieces::At at = pieces_.first();
    at->bytes = std::move(header);
    for (std::size_t k = question.property.cases.size(); k > 0; --k) {
      OpenNode root;
      root.of_case = k - 1;
      root.root = true;
      const auto [piece, rest] = pieces_.part(at);
      root.piece = piece;
      pieces_.flush(rest, true);
      roots_.push_back(std::move(root));
    }
    at->done = true;
  }

  // Writes all trees.
  void write_all() {
    Tasks<OpenNode> tasks;
    for (OpenNode& root : roots_) tasks.add(std::move(root));
    write(tasks, question_.request.jobs, nullptr);
    pieces_.finish();
  }

  // Writes the trees down to a depth, and of the subtrees below it those of one part.
  void write_part(const ProofPart& part) {
    Frontier frontier;
    while (std::uint64_t{1} << frontier.depth < kNodesPerPart * part.count) ++frontier.depth;
    Tasks<OpenNode> above, below;
    std::uint64_t subtrees = 0;
    frontier.leave = [&](OpenNode node) {
      const std::uint64_t subtree = subtrees++;
      node.piece->subtree = subtree;
      if (subtree % part.count == part.index) below.add(std::move(node));
    };
    for (OpenNode& root : roots_) above.add(std::move(root));
    write(above, 1, &frontier);
    write(below, question_.request.jobs, nullptr);
  }

  const Pieces& pieces() const { return pieces_; }
  const ProofTotals& totals() const { return totals_; }

 private:
  void write(Tasks<OpenNode>& tasks, std::size_t jobs, const Frontier* frontier) {
    tasks.run(jobs, [&] {
      auto writer = std::make_unique<TreeWriter>(question_, pieces_, tasks, frontier);
      return [this, writer = std::move(writer)](OpenNode node) {
        const ProofTotals before = writer->totals();
        writer->write(std::move(node));
        const std::scoped_lock lock(mutex_);
        totals_.nodes += writer->totals().nodes - before.nodes;
        totals_.leaves += writer->totals().leaves - before.leaves;
      };
    });
  }

  const Question& question_;
  Pieces pieces_;
  std::vector<OpenNode> roots_;  // the last first
  std::mutex mutex_;
  ProofTotals totals_;
};

// A part's file: "BFP1", its index, the number of parts, and pieces of the certificate's text: 0 of
// what all parts have, 1 of a subtree of this part, 2 of one of another part, which is left out.
constexpr char kPartMagic[] = "BFP1";
enum PieceTag : unsigned char { kShared = 0, kOwn = 1, kOther = 2 };

std::string part_text(const Pieces& pieces, const ProofPart& part) {
  std::string text = kPartMagic + number_text(part.index) + number_text(part.count), run;
  std::optional<std::uint64_t> subtree;  // of the run
  const auto end_run = [&] {
    const bool other = subtree && *subtree % part.count != part.index;
    text += static_cast<char>(other ? kOther : subtree ? kOwn : kShared);
    if (!other) text += number_text(run.size()) + run;
    run.clear();
  };
  for (const Piece& piece : pieces.all()) {
    if (piece.subtree != subtree) {
      end_run();
      subtree = piece.subtree;
    }
    run += piece.bytes;
  }
  end_run();
  return text;
}

// Reads a part's file.
class PartReader {
 public:
  explicit PartReader(const std::string& bytes) : bytes_(bytes) {
    if (bytes.rfind(kPartMagic, 0) != 0) throw NoCertificate("this is no part of a certificate");
    at_ = sizeof kPartMagic - 1;
    index = number();
    count = number();
  }

  bool done() const { return at_ == bytes_.size(); }

  // The next piece, of which another part's has no bytes.
  PieceTag next(std::string& piece) {
    piece.clear();
    const auto tag = byte();
    if (tag > kOther) throw NoCertificate("a part of a certificate is damaged");
    if (tag == kOther) return kOther;
    const std::uint64_t size = number();
    if (size > bytes_.size() - at_) throw NoCertificate("a part of a certificate is cut off");
    piece = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return static_cast<PieceTag>(tag);
  }

  std::uint64_t index = 0, count = 0;

 private:
  unsigned char byte() {
    if (done()) throw NoCertificate("a part of a certificate is cut off");
    return static_cast<unsigned char>(bytes_[at_++]);
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t part = byte();
      value |= (part & 127) << shift;
      if (part < 128) return value;
    }
    throw NoCertificate("a part of a certificate is damaged");
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace

void expect_covered(const std::vector<std::string>& models, const std::string& property,
                    const std::optional<unsigned>& ulps) {
  Work work;
  const Property asked = read_property(property);
  const Network network = make_network(read_models(models, asked), asked.wiring,
                                       grid_of(ulps, Grid{}.value_bits), work);
  expect_fit(network, asked);
  const Bounder bounder(network, Header{}.coefficient_bits, work);
}

namespace {

// Returns a function that throws NoCertificate when the request is stopped.
std::function<void()> pause_of(const ProofRequest& request) {
  return [&stop = request.stop] {
    if (!stop()) return;
    throw NoCertificate(stop.is_late() ? "the certificate could not be made within its time"
                                       : "making the certificate was stopped");
  };
}

// Calls write(question, header) with a grid that holds all values: a finer one loses less, a
// coarser one holds larger ones, so the first that holds all. is_written: whether it is too late
// for another.
template <class Write>
ProofTotals with_grid(const ProofRequest& request, const Write& write,
                      const std::function<bool()>& is_written) {
  const std::function<void()> pause = pause_of(request);
  Work work(UINT64_MAX, pause);
  const Property property = read_property(request.property);
  const std::vector<Model> models = read_models(request.models, property);
  for (const unsigned value_bits : {Grid{}.value_bits, 28u, 20u}) {
    Header header;
    header.grid = grid_of(request.ulps, value_bits);
    const Network network = make_network(models, property.wiring, header.grid, work);
    expect_fit(network, property);
    const SlopeSearch slopes(network, work);
    const Question question = {
        network, property, request, header.coefficient_bits, slopes, slopes.input_weights(), pause};
    try {
      return write(question, header_of(request, header));
    } catch (const NotProven& why) {
      if (is_written() || value_bits == 20) throw NoCertificate(why.what());
    }
  }
  throw NoCertificate("no grid holds the network's values");
}

}  // namespace

ProofTotals write_proof(const ProofRequest& request) {
  std::uint64_t bytes = 0;
  const auto write = [&](const Question& question, std::string header) {
    Writers writers(question, std::move(header), [&](const std::string& text) {
      bytes += text.size();
      request.write(text);
    });
    writers.write_all();
    return ProofTotals{writers.totals().nodes, writers.totals().leaves, bytes};
  };
  return with_grid(request, write, [&] { return bytes > 0; });
}

ProofTotals write_proof_part(const ProofRequest& request, const ProofPart& part) {
  const auto write = [&](const Question& question, std::string header) {
    Writers writers(question, std::move(header), nullptr);
    writers.write_part(part);
    const std::string text = part_text(writers.pieces(), part);
    request.write(text);
    return ProofTotals{writers.totals().nodes, writers.totals().leaves, text.size()};
  };
  return with_grid(request, write, [] { return false; });
}

std::uint64_t join_proof_parts(const std::vector<std::string>& parts,
                               const std::function<void(const std::string&)>& write) {
  std::vector<PartReader> readers(parts.begin(), parts.end());
  std::vector<bool> seen(parts.size(), false);
  for (const PartReader& reader : readers) {
    if (reader.count != parts.size() || reader.index >= parts.size() || seen[reader.index])
      throw NoCertificate("the parts of the certificate are not all parts, each once");
    seen[reader.index] = true;
  }
  std::uint64_t bytes = 0;
  while (!readers.at(0).done()) {
    std::string piece;
    std::size_t shared = 0, own = 0;
    for (std::size_t k = 0; k < readers.size(); ++k) {
      std::string each;
      const PieceTag tag = readers[k].next(each);
      shared += tag == kShared ? 1 : 0;
      own += tag == kOwn ? 1 : 0;
      if (tag == kOther) continue;
      if (shared > 1 && each != piece)
        throw NoCertificate("the parts of the certificate are not of one tree");
      piece = std::move(each);
    }
    if (shared != (own == 1 ? 0 : readers.size()))
      throw NoCertificate("the parts of the certificate are not of one tree");
    write(piece);
    bytes += piece.size();
  }
  for (const PartReader& reader : readers)
    if (!reader.done()) throw NoCertificate("the parts of the certificate are not of one tree");
  return bytes;
}

ProofTotals write_violation(const ProofRequest& request, const std::vector<Rat>& inputs) {
  Work work(UINT64_MAX, pause_of(request));
  const Property property = read_property(request.property);
  const std::vector<Model> models = read_models(request.models, property);
  const Wiring& wiring = property.wiring;
  if (inputs.size() != wiring.source.size())
    throw NoCertificate("the point has another number of inputs than the property");
  std::vector<Rat> point(wiring.inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (wiring.source[i] < wiring.inputs) point[wiring.source[i]] = inputs[i];
  std::string words;
  for (const Rat& number : point) {
    const std::string digits = number.get_str();
    words += number_text(digits.size()) + digits;
  }
  // The grid matters where numbers are irrational: a finer one tells more, and holds less.
  constexpr unsigned kGrids[] = {Grid{}.value_bits, 46, 40, 28, 20};
  for (const unsigned value_bits : kGrids) {
    Header header;
    header.statement = kViolated;
    header.grid = grid_of(request.ulps, value_bits);
    try {
      const Outputs outputs =
          evaluate(models, property.wiring, point, header.grid, header.coefficient_bits, work);
      if (is_violated(property, point, outputs.lower, outputs.upper)) {
        const std::string text = header_of(request, header) + words;
        request.write(text);
        return {0, 0, text.size()};
      }
      if (outputs.lower == outputs.upper) break;
    } catch (const NotProven&) {  // a value is beyond the grid
    } catch (const Refused&) {    // so is a constant, perhaps
      if (value_bits == kGrids[std::size(kGrids) - 1]) throw;
    }
  }
  throw NoCertificate("the point does not violate the property as the checker reads it");
}

}  // namespace bf_aot::prove
