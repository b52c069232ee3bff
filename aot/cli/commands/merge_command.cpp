#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aot/apps/certify/campaign.h"
#include "aot/apps/certify/page.h"
#include "aot/cli/commands/certify_report.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/output_files.h"
#include "aot/cli/options/question.h"
#include "aot/cli/options/verdict_report.h"
#include "aot/decide/parts/tree_file.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/request.h"
#include "aot/input/json/read_text.h"
#include "aot/prove/proof_file.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

constexpr char kMergeExamples[] =
    "bf-aot merge part-*.json\n"
    "bf-aot merge small.json large-*.json --html front.html";

constexpr char kMergeNotes[] =
    "Takes the files of 'bf-aot verify --part I/N --save-part FILE', all N parts. Verified is said "
    "when the parts make a whole tree whose every leaf is closed. A counterexample of a part is "
    "checked again on the model and property that the file names.\n\n"
    "Or takes those of 'bf-aot certify --complete', with --checkpoint or --save-part, of one "
    "network or of several, and shows these beside each other; exit code 0.\n\n"
    "Exit code: 0 verified, 3 falsified, 4 unknown; 1 the files are no whole, 2 wrong usage.";

// The counterexample of a part, proven anew; nothing when the proof does not succeed here.
// Throws: BF3018 when model or property are no longer those of the file.
std::optional<decide::Witness> proven(const decide::NamedTreeFile& part) {
  const decide::TreeQuestion& asked = part.file.question;
  const ModelArguments arguments = arguments_of(asked);
  const Property property = read_property(asked.property);
  std::vector<std::string> files;
  for (const decide::TreeQuestion::Model& model : asked.models) files.push_back(model.path);
  decide::TreeQuestion now = question_of(arguments, files, asked.property, property);
  now.nodes_sha256 = asked.nodes_sha256;
  decide::expect_same_question(part.file, part.name, now);
  if (files.size() != std::max<std::size_t>(property.networks.size(), 1))
    fail("BF3017", part.name + ": question.model", "other networks than the property is about");
  const Network imported = read_network(arguments, files, property);
  build::CompileOptions options = compile_options(arguments);
  options.planner.semantics = semantics_of(arguments, property);
  const std::optional<decide::Sampler> rounded =
      decide::rounded(imported.sampler, imported.info, options);
  const decide::Sampler& network = rounded ? *rounded : imported.sampler;
  const decide::TreeWitness& witness = *part.file.witness;
  if (network.graph().one_hot.size == 0) check_interface(property, network.graph());
  if (witness.property_case >= property.cases.size() ||
      witness.x.size() != static_cast<std::size_t>(property.input_count))
    fail("BF3017", part.name + ": witness", "no input of this network, or no case of the property");
  return decide::prove_again(network, property, options.planner.semantics == Semantics::kReal,
                             witness.property_case, witness.x);
}

struct Merged {
  decide::Answer answer = decide::Answer::kUnknown;
  std::optional<decide::Witness> witness;
  decide::tree::TreeState state;  // empty where a witness decides
};

Merged merge(const std::vector<decide::NamedTreeFile>& parts) {
  Merged merged;
  for (const decide::NamedTreeFile& part : parts) {
    decide::expect_same_question(part.file, part.name, parts[0].file.question);
    if (!part.file.witness) continue;
    merged.witness = proven(part);
    if (!merged.witness) continue;
    merged.answer = decide::Answer::kFalsified;
    return merged;
  }
  merged.state = decide::join_parts(parts);
  if (decide::tree::is_verified(merged.state)) merged.answer = decide::Answer::kVerified;
  return merged;
}

// Writes the certificate of the verdict, if there is one. Throws: BF3001, BF3022, BF3023; BF3101 to
// BF3103.
std::optional<prove::ProofReport> write_proof(const Merged& merged,
                                              const decide::NamedTreeFile& part,
                                              const std::vector<std::string>& parts,
                                              const std::string& path) {
  prove::ProofReport report;
  if (merged.witness) {
    prove::ProofFile proof;
    for (const auto& model : part.file.question.models)
      proof.models.push_back(prove::bytes_of(model.path));
    proof.property = prove::bytes_of(part.file.question.property);
    proof.path = path;
    const Property property = read_property(part.file.question.property);
    proof.ulps = prove::whole_ulps(
        decide::ulps_of(build::resolved(arguments_of(part.file.question).values), property));
    report = prove::write_proof_file(proof, &merged.witness->x);
  } else if (merged.answer == decide::Answer::kVerified) {
    std::vector<std::string> bytes;
    for (const std::string& each : parts) bytes.push_back(prove::bytes_of(each));
    report = prove::join_proofs(bytes, path);
  } else {
    return std::nullopt;
  }
  if (!report.missing.empty())
    fail("BF3023", printable(path), "there is no certificate: " + report.missing,
         "give the files of all parts of one certificate, each once");
  return report;
}

void print(const Merged& merged, std::size_t parts, bool as_json, const prove::ProofReport* proof) {
  if (as_json) {
    nlohmann::ordered_json json;
    json["verdict"] = word(merged.answer, Wording::kPlain);
    json["parts"] = parts;
    json["nodes"] = merged.state.nodes;
    json["points"] = merged.state.points;
    json["open_nodes"] = merged.state.open.size();
    json["closed"] = decide::tree::closed_part(merged.state);
    json["counterexample"] = nullptr;
    if (merged.witness) json["counterexample"] = cli::to_json(*merged.witness);
    if (proof != nullptr) json["proof"] = {{"bytes", proof->bytes}, {"seconds", proof->seconds}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}\n", word(merged.answer, Wording::kPlain));
  if (merged.witness)
    fmt::print("\n{}\n", plain_text(*merged.witness, most_lines()));
  else
    fmt::print("\nparts    {}\nsplit    {} nodes and {} points, {} open\n", parts,
               merged.state.nodes, merged.state.points, merged.state.open.size());
  if (proof != nullptr) fmt::print("proof    {} bytes\n", proof->bytes);
}

// Joins the results about data sets, and shows those of several networks beside each other.
int merge_campaigns(const std::vector<std::string>& files, const std::string& html, bool json) {
  std::vector<apps::NamedCampaign> parts;
  for (const std::string& file : files)
    parts.push_back({printable(file), apps::read_campaign(file)});
  const std::vector<apps::CertifyRun> runs = apps::join_campaigns(parts);
  if (!html.empty()) system::publish_file(html, apps::front_page(runs, BF_VERSION_STRING));
  if (json) {
    nlohmann::ordered_json all = {{"runs", nlohmann::ordered_json::array()}};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      nlohmann::ordered_json one = certify_json(runs[i], std::nullopt);
      for (nlohmann::ordered_json& radius : one["radii"])
        radius["on_front"] = apps::is_on_front(
            runs, i, radius["eps"].is_null() ? "" : radius["eps"].get<std::string>());
      all["runs"].push_back(std::move(one));
    }
    fmt::print("{}\n", all.dump());
    return 0;
  }
  for (const apps::CertifyRun& run : runs) {
    if (&run != runs.data()) fmt::print("\n");
    print_certified(run, std::nullopt);
  }
  if (runs.size() > 1) print_front(runs);
  return 0;
}

}  // namespace

int merge_command(const Call& call) {
  std::vector<std::string> files;
  std::vector<std::string> proof_parts;
  std::string counterexample, proof_file, html;
  bool json = false;
  CommandLine app("Joins the parts of a search into a verdict, or those of a data set.",
                  "bf-aot merge");
  app.add_option("PART", files, "files of 'bf-aot verify --part', or of 'certify --complete'")
      ->required()
      ->type_name("FILE");
  app.add_option("--counterexample", counterexample,
                 "write a counterexample to this file, in the competitions' syntax")
      ->writes("FILE");
  Option* const proof =
      app.add_option("--proof", proof_file, "write the certificate of the verdict, for bf-check")
          ->writes("FILE");
  proof->needs(app.add_option("--proof-part", proof_parts,
                              "what 'bf-aot verify --part --proof FILE' wrote, all parts")
                   ->needs(proof)
                   ->type_name("FILE"));
  app.add_flag("--json", json, "print one JSON object");
  set_help(app, {kMergeExamples, kMergeNotes, "guide/cluster.md"});
  app.add_option("--html", html, "of 'bf-aot certify --complete': a page of all networks")
      ->writes("FILE");
  if (const auto code = parse(app, call)) return *code;
  if (apps::is_campaign(input::read_text(files[0], "part"))) {
    if (!counterexample.empty() || !proof_file.empty())
      fail("BF3017", printable(files[0]),
           "--counterexample and --proof are of one property's parts");
    return merge_campaigns(files, html, json);
  }
  if (!html.empty())
    fail("BF3017", printable(files[0]), "--html is of parts of 'bf-aot certify --complete'");
  std::vector<decide::NamedTreeFile> parts;
  for (const std::string& file : files)
    parts.push_back({printable(file), decide::read_tree_file(file)});
  for (const decide::NamedTreeFile& part : parts) {
    std::set<std::filesystem::path> read = {part.file.question.property};
    for (const decide::TreeQuestion::Model& model : part.file.question.models)
      read.insert(model.path);
    expect_apart(app, "PART", read);
  }
  const Merged merged = merge(parts);
  if (merged.witness && !counterexample.empty())
    system::publish_file(counterexample, competition_text(*merged.witness));
  std::optional<prove::ProofReport> proven;
  if (!proof_file.empty()) proven = write_proof(merged, parts[0], proof_parts, proof_file);
  print(merged, parts.size(), json, proven ? &*proven : nullptr);
  return exit_code(merged.answer, Wording::kPlain);
}

}  // namespace bf_aot::cli
