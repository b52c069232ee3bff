#include "aot/cli/ablate/ablate_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "aot/build/frontend_result.h"
#include "aot/decide/property/cases.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "frontend/sha256.h"

namespace bf_aot::cli {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

void add_property(const SubjectFiles& files, Subject& subject) {
  subject.property = read_property(files.property);
  const Property& property = *subject.property;
  const VerdictTables tables = verdict_tables(property);
  const decide::Cases cases(property);
  for (std::size_t i = 0; i < std::min(property.cases.size(), files.most_boxes); ++i) {
    Question question;
    question.exact = property.cases[i].box;
    question.box = cases.box(i);
    for (std::uint32_t j = tables.case_clauses[i]; j < tables.case_clauses[i + 1]; ++j) {
      question.clauses.emplace_back();
      for (std::uint32_t k = tables.clause_terms[j]; k < tables.clause_terms[j + 1]; ++k) {
        const VerdictCondition& term = tables.terms[k];
        question.clauses.back().push_back(
            {term.row, term.at_least, static_cast<double>(term.threshold)});
      }
    }
    subject.questions.push_back(std::move(question));
  }
}

// The rows of all boxes, each once, make the specification.
void add_golden(const SubjectFiles& files, int input_count, int output_count, Subject& subject) {
  const input::Golden golden = input::read_golden(files.golden, input_count, output_count);
  LinearSpec spec;
  std::map<std::vector<double>, int> known;
  for (const input::GoldenBox& box : golden.boxes) {
    if (subject.questions.size() >= files.most_boxes) break;
    Question question;
    question.exact = box.file.box;
    question.box = input::round_outward(box.file, input_count);
    question.rounding_dominated = box.rounding_dominated;
    question.reference = box.methods.at(static_cast<std::size_t>(Method::kCrown));
    for (const auto& clause : box.clauses) {
      question.clauses.emplace_back();
      for (const std::size_t row : clause) {
        const auto [entry, added] =
            known.try_emplace(box.rows[row], static_cast<int>(spec.rows.size()));
        if (added) spec.rows.push_back(box.rows[row]);
        question.clauses.back().push_back({entry->second, false, box.limits[row]});
      }
    }
    subject.questions.push_back(std::move(question));
  }
  if (!spec.rows.empty()) subject.spec = std::move(spec);
}

int count_elements(const Graph& graph, const std::vector<ValueId>& ids) {
  std::int64_t sum = 0;
  for (const ValueId id : ids) sum += element_count(graph.value(id).shape);
  return static_cast<int>(sum);
}

}  // namespace

double margin_of(const Question& question, const engine::Bounds& rows) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double margin = kInf;
  for (const auto& clause : question.clauses) {
    double best = -kInf;
    for (const Excluded& condition : clause) {
      const auto row = static_cast<std::size_t>(condition.row);
      best = std::max(best, condition.at_least ? condition.limit - rows.upper[row]
                                               : rows.lower[row] - condition.limit);
    }
    margin = std::min(margin, best);
  }
  return margin;
}

Subject read_subject(const SubjectFiles& files) {
  Subject subject;
  subject.model = files.model;
  std::string asked = fmt::format("{}\n", files.most_boxes);
  std::vector<std::string> sources = files.boxes;
  for (const std::string& file : {files.property, files.golden})
    if (!file.empty()) sources.push_back(file);
  for (const std::string& file : sources)
    asked += sha256(read_file(file, kMostBytes, "file of boxes")) + "\n";
  subject.digest = sha256(asked);

  const build::FrontendResult front = build::run_frontend(files.model, {});
  subject.sha256 = front.info.sha256;
  const int input_count = count_elements(front.graph, front.graph.inputs);
  if (!files.property.empty()) add_property(files, subject);
  if (!files.golden.empty())
    add_golden(files, input_count, count_elements(front.graph, front.graph.outputs), subject);
  for (const std::string& file : files.boxes) {
    const input::BoxFile box = input::read_box(file, std::nullopt);
    Question question;
    question.exact = box.box;
    question.box = input::round_outward(box, input_count);
    subject.questions.push_back(std::move(question));
  }
  return subject;
}

}  // namespace bf_aot::cli
