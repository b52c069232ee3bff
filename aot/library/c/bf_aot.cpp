#include "aot/library/c/bf_aot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <new>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "aot/library/state.h"
#include "frontend/source_state.h"

namespace api = bf_aot::api;

struct bf_aot_error {
  api::Error error;
  std::string text;
};

struct bf_aot_options {
  std::map<std::string, std::string> values;  // names with '_'
  std::stop_source stop = {};
  bf_aot_progress_function progress = nullptr;
  void* context = nullptr;
};

struct bf_aot_model {
  api::Model model;
};

struct bf_aot_verifier {
  api::Verifier verifier;
  double timeout_seconds = 0;
  std::stop_token stop = {};
};

struct bf_aot_result {
  api::VerifyResult result;
};

namespace {

// Returns the error for the case that there is no memory for another one. Nobody frees it.
bf_aot_error* no_memory() noexcept {
  static bf_aot_error error;
  static const bool filled = [] {
    // Each text is short enough to need no memory of its own.
    error.error.code = "BF3504";
    error.error.message = "no memory left";
    error.text = "error BF3504";
    return true;
  }();
  static_cast<void>(filled);
  return &error;
}

bf_aot_error* to_handle(api::Error error) noexcept {
  try {
    std::string text = error.text();
    return new bf_aot_error{std::move(error), std::move(text)};
  } catch (...) {
    return no_memory();
  }
}

// Runs the body of a call; the error is NULL where nothing was thrown or returned.
template <class Body>
bf_aot_error* run(const char* doing, const Body& body) noexcept {
  const api::Result<bool> done = api::guarded<bool>(doing, [&] {
    body();
    return true;
  });
  if (done.ok()) return nullptr;
  try {
    return to_handle(done.error());
  } catch (...) {
    return no_memory();
  }
}

// The value of a result; an error leaves the call.
template <class T>
T taken(api::Result<T> result) {
  if (!result.ok()) throw api::Failed{result.error()};
  return std::move(result).value();
}

void need(const void* pointer, const char* name) {
  if (pointer == nullptr)
    api::refuse("BF3502", name, "the pointer is null", "give an object or an array");
}

// An option as it was given.
struct Value {
  const std::string& name;
  const std::string& text;

  double number() const {
    double parsed = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, parsed);  // in any locale
    if (error != std::errc() || end != last || !std::isfinite(parsed))
      api::refuse("BF3501", name, fmt::format("'{}' is no number", text));
    return parsed;
  }

  int whole() const {
    const double value = number();
    if (value != std::floor(value) || std::abs(value) > 1e9)
      api::refuse("BF3501", name, fmt::format("{} is no whole number", value));
    return static_cast<int>(value);
  }

  bool flag() const {
    if (text != "true" && text != "false")
      api::refuse("BF3501", name, fmt::format("'{}' is neither true nor false", text));
    return text == "true";
  }
};

// An option that is a field of a call's struct, and no row of the library's table.
template <class Made>
struct Field {
  std::string_view name;
  void (*take)(Made& made, const Value& value);
};

struct VerifierOptions {
  api::Options plan;
  double timeout_seconds = 0;
};
constexpr Field<VerifierOptions> kOfVerifiers[] = {
    {"threads", [](auto& made, const Value& value) { made.plan.threads = value.whole(); }},
    {"timeout", [](auto& made, const Value& value) { made.timeout_seconds = value.number(); }}};

constexpr Field<api::CertifyOptions> kOfCertify[] = {
    {"threads", [](auto& made, const Value& value) { made.bounds.threads = value.whole(); }},
    {"decide_seconds", [](auto& made, const Value& value) {
       made.decide = true;
       made.decide_seconds = value.number();
     }}};

void take_arithmetic(api::CodeOptions& made, const Value& value) {
  const auto arithmetic = api::arithmetic_named(value.text);
  if (!arithmetic) api::refuse("BF3501", value.name, "there is no such arithmetic");
  made.arithmetic = *arithmetic;
}

constexpr Field<api::CodeOptions> kOfCode[] = {
    {"threads", [](auto& made, const Value& value) { made.plan.threads = value.whole(); }},
    {"target", [](auto& made, const Value& value) { made.target = value.text; }},
    {"items", [](auto& made, const Value& value) { made.items = value.whole(); }},
    {"arithmetic", take_arithmetic},
    {"name", [](auto& made, const Value& value) { made.name = value.text; }},
    {"property", [](auto& made, const Value& value) { made.property_file = value.text; }},
    {"decide", [](auto& made, const Value& value) { made.decide = value.flag(); }},
    {"single_file", [](auto& made, const Value& value) { made.single_file = value.flag(); }},
    {"dispatch", [](auto& made, const Value& value) { made.dispatch = value.flag(); }},
    {"library", [](auto& made, const Value& value) { made.library = value.flag(); }}};

template <class Made, std::size_t count>
const Field<Made>* find_field(const Field<Made> (&fields)[count], std::string_view name) {
  const auto* const found = std::ranges::find(fields, name, &Field<Made>::name);
  return found == std::end(fields) ? nullptr : found;
}

bool is_field(std::string_view name) {
  return find_field(kOfVerifiers, name) != nullptr || find_field(kOfCertify, name) != nullptr ||
         find_field(kOfCode, name) != nullptr;
}

// Takes the fields; returns the other options, which the library's table has, or refuses.
template <class Made, std::size_t count>
std::map<std::string, std::string> take(const bf_aot_options* options,
                                        const Field<Made> (&fields)[count], Made& made) {
  std::map<std::string, std::string> rest;
  if (options == nullptr) return rest;
  for (const auto& [name, text] : options->values)
    if (const Field<Made>* const field = find_field(fields, name))
      field->take(made, {name, text});
    else
      rest.emplace(name, text);
  return rest;
}

bf_aot_phase to_phase(api::Phase phase) {
  return phase == api::Phase::kBound    ? BF_AOT_BOUND
         : phase == api::Phase::kSearch ? BF_AOT_SEARCH
                                        : BF_AOT_SPLIT;
}

api::VerifyOptions verify_options(const bf_aot_options* options) {
  api::VerifyOptions made;
  if (options == nullptr) return made;
  made.more = options->values;
  made.stop = options->stop.get_token();
  if (options->progress != nullptr)
    made.progress = [tell = options->progress,
                     context = options->context](const api::Progress& at) {
      const bf_aot_progress told = {to_phase(at.phase), at.cases_done, at.cases, at.boxes,
                                    at.proven};
      tell(&told, context);
    };
  return made;
}

// The token of a call's options, which may be null: it is never asked then.
std::stop_token stop_of(const bf_aot_options* options) {
  return options == nullptr ? std::stop_token() : options->stop.get_token();
}

// The numbers of an array of rows. A product that leaves size_t is no array's size.
std::size_t numbers_of(std::size_t rows, std::size_t of_each, const char* name) {
  if (of_each > 0 && rows > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double) / of_each)
    api::refuse("BF3503", name,
                fmt::format("{} of {} numbers are more than memory holds", rows, of_each));
  return rows * of_each;
}

const std::vector<api::Tensor>& tensors_of(const bf_aot_model* model, bf_aot_side side) {
  static const std::vector<api::Tensor> none;
  if (model == nullptr) return none;
  return side == BF_AOT_INPUTS ? model->model.inputs() : model->model.outputs();
}

const api::Tensor* tensor_of(const bf_aot_model* model, bf_aot_side side, std::size_t tensor) {
  const std::vector<api::Tensor>& all = tensors_of(model, side);
  return tensor < all.size() ? &all[tensor] : nullptr;
}

bf_aot_error* bounds_of(const bf_aot_verifier* verifier, const double* lower, const double* upper,
                        std::size_t boxes, float* out_lower, float* out_upper, bool rows) {
  return run("bounding boxes", [&] {
    need(verifier, "verifier");
    need(lower, "lower");
    need(upper, "upper");
    need(out_lower, "out_lower");
    need(out_upper, "out_upper");
    const std::size_t numbers = numbers_of(boxes, verifier->verifier.input_count(), "boxes");
    const std::span<const double> low(lower, numbers), high(upper, numbers);
    api::Call call;
    call.timeout_seconds = verifier->timeout_seconds;
    call.stop = verifier->stop;
    const api::Bounds bounds = taken(rows ? verifier->verifier.spec_bounds(low, high, call)
                                          : verifier->verifier.bounds(low, high, call));
    std::ranges::copy(bounds.lower, out_lower);
    std::ranges::copy(bounds.upper, out_upper);
  });
}

bf_aot_error* bounds_there(const bf_aot_verifier* verifier, const api::DeviceBoxes& boxes,
                           float* out_lower, float* out_upper, bool rows) {
  return run("bounding boxes", [&] {
    need(verifier, "verifier");
    need(boxes.lower, "lower");
    need(boxes.upper, "upper");
    need(out_lower, "out_lower");
    need(out_upper, "out_upper");
    (void)numbers_of(boxes.boxes, verifier->verifier.input_count(), "boxes");
    api::Call call;
    call.stop = verifier->stop;
    const api::Bounds bounds = taken(rows ? verifier->verifier.spec_bounds(boxes, call)
                                          : verifier->verifier.bounds(boxes, call));
    std::ranges::copy(bounds.lower, out_lower);
    std::ranges::copy(bounds.upper, out_upper);
  });
}

}  // namespace

extern "C" {

int bf_aot_abi() {
  return BF_AOT_ABI;
}

const char* bf_aot_version() {
  return BF_AOT_VERSION;
}

const char* bf_aot_sources() {
  return bf_aot::source_state().data() == nullptr ? "" : bf_aot::source_state().data();
}

const char* bf_aot_error_code(const bf_aot_error* error) {
  return error == nullptr ? "" : error->error.code.c_str();
}

const char* bf_aot_error_place(const bf_aot_error* error) {
  return error == nullptr ? "" : error->error.where.c_str();
}

const char* bf_aot_error_message(const bf_aot_error* error) {
  return error == nullptr ? "" : error->error.message.c_str();
}

const char* bf_aot_error_hint(const bf_aot_error* error) {
  return error == nullptr ? "" : error->error.hint.c_str();
}

const char* bf_aot_error_text(const bf_aot_error* error) {
  return error == nullptr ? "" : error->text.c_str();
}

void bf_aot_error_free(bf_aot_error* error) {
  if (error != no_memory()) delete error;
}

bf_aot_error* bf_aot_options_make(bf_aot_options** options) {
  return run("making options", [&] {
    need(options, "options");
    *options = new bf_aot_options;
  });
}

bf_aot_error* bf_aot_options_set(bf_aot_options* options, const char* name, const char* value) {
  return run("setting an option", [&] {
    need(options, "options");
    need(name, "name");
    need(value, "value");
    std::string key = name;
    std::ranges::replace(key, '-', '_');
    const std::vector<api::OptionInfo> rows = api::option_infos();
    if (!is_field(key) && std::ranges::find(rows, key, &api::OptionInfo::name) == rows.end())
      api::refuse("BF3501", name, "there is no such option",
                  "docs/reference/c-library.md lists the options of each call");
    options->values[key] = value;
  });
}

void bf_aot_options_free(bf_aot_options* options) {
  delete options;
}

void bf_aot_stop(bf_aot_options* options) {
  if (options != nullptr) options->stop.request_stop();
}

bf_aot_error* bf_aot_options_progress(bf_aot_options* options, bf_aot_progress_function function,
                                      void* context) {
  return run("setting an option", [&] {
    need(options, "options");
    options->progress = function;
    options->context = context;
  });
}

bf_aot_error* bf_aot_model_load(const char* path, bf_aot_model** model) {
  return run("reading the model", [&] {
    need(path, "path");
    need(model, "model");
    *model = new bf_aot_model{taken(api::Model::load(path))};
  });
}

bf_aot_error* bf_aot_model_read(const void* bytes, size_t size, const char* name,
                                bf_aot_model** model) {
  return run("reading the model", [&] {
    need(bytes, "bytes");
    need(name, "name");
    need(model, "model");
    const std::span<const std::byte> all(static_cast<const std::byte*>(bytes), size);
    *model = new bf_aot_model{taken(api::Model::from_bytes(all, name))};
  });
}

void bf_aot_model_free(bf_aot_model* model) {
  delete model;
}

size_t bf_aot_model_elements(const bf_aot_model* model, bf_aot_side side) {
  if (model == nullptr) return 0;
  return side == BF_AOT_INPUTS ? model->model.input_count() : model->model.output_count();
}

size_t bf_aot_model_tensors(const bf_aot_model* model, bf_aot_side side) {
  return tensors_of(model, side).size();
}

const char* bf_aot_model_tensor_name(const bf_aot_model* model, bf_aot_side side, size_t tensor) {
  const api::Tensor* const found = tensor_of(model, side, tensor);
  return found == nullptr ? nullptr : found->name.c_str();
}

size_t bf_aot_model_tensor_shape(const bf_aot_model* model, bf_aot_side side, size_t tensor,
                                 size_t* extents, size_t room) {
  const api::Tensor* const found = tensor_of(model, side, tensor);
  if (found == nullptr) return 0;
  const std::size_t rank = found->shape.size();
  if (extents == nullptr) room = 0;
  for (std::size_t i = 0; i < std::min(rank, room); ++i)
    extents[i] = static_cast<std::size_t>(found->shape[i]);
  return rank;
}

const char* bf_aot_model_sha256(const bf_aot_model* model) {
  return model == nullptr ? "" : model->model.sha256().c_str();
}

bf_aot_error* bf_aot_verifier_make(const bf_aot_model* model, const bf_aot_options* options,
                                   const double* rows, const double* offsets, size_t count,
                                   bf_aot_verifier** verifier) {
  return run("planning the verifier", [&] {
    need(model, "model");
    need(verifier, "verifier");
    VerifierOptions made;
    made.plan.more = take(options, kOfVerifiers, made);
    api::Specification specification;
    if (count > 0) {
      need(rows, "rows");
      const std::size_t numbers = numbers_of(count, model->model.output_count(), "count");
      specification.rows.assign(rows, rows + numbers);
      if (offsets != nullptr) specification.offsets.assign(offsets, offsets + count);
    }
    *verifier =
        new bf_aot_verifier{taken(api::Verifier::make(model->model, made.plan, specification)),
                            made.timeout_seconds, stop_of(options)};
  });
}

void bf_aot_verifier_free(bf_aot_verifier* verifier) {
  delete verifier;
}

bf_aot_error* bf_aot_verifier_bounds(const bf_aot_verifier* verifier, const double* lower,
                                     const double* upper, size_t boxes, float* out_lower,
                                     float* out_upper) {
  return bounds_of(verifier, lower, upper, boxes, out_lower, out_upper, false);
}

bf_aot_error* bf_aot_verifier_row_bounds(const bf_aot_verifier* verifier, const double* lower,
                                         const double* upper, size_t boxes, float* out_lower,
                                         float* out_upper) {
  return bounds_of(verifier, lower, upper, boxes, out_lower, out_upper, true);
}

bf_aot_error* bf_aot_verifier_bounds_there(const bf_aot_verifier* verifier, const float* lower,
                                           const float* upper, size_t boxes, void* stream,
                                           float* out_lower, float* out_upper) {
  return bounds_there(verifier, {boxes, lower, upper, stream}, out_lower, out_upper, false);
}

bf_aot_error* bf_aot_verifier_row_bounds_there(const bf_aot_verifier* verifier, const float* lower,
                                               const float* upper, size_t boxes, void* stream,
                                               float* out_lower, float* out_upper) {
  return bounds_there(verifier, {boxes, lower, upper, stream}, out_lower, out_upper, true);
}

bf_aot_error* bf_aot_verify(const bf_aot_model* model, const char* property,
                            const bf_aot_options* options, bf_aot_result** result) {
  return run("deciding the property", [&] {
    need(model, "model");
    need(property, "property");
    need(result, "result");
    *result = new bf_aot_result{
        taken(api::verify(model->model, std::string(property), verify_options(options)))};
  });
}

bf_aot_error* bf_aot_verify_text(const bf_aot_model* model, const char* text,
                                 const bf_aot_options* options, bf_aot_result** result) {
  return run("deciding the property", [&] {
    need(model, "model");
    need(text, "text");
    need(result, "result");
    *result =
        new bf_aot_result{taken(api::verify_text(model->model, text, verify_options(options)))};
  });
}

bf_aot_error* bf_aot_verify_networks(const char* const* names, const bf_aot_model* const* models,
                                     size_t count, const char* query, const bf_aot_options* options,
                                     bf_aot_result** result) {
  return run("deciding the property", [&] {
    need(names, "names");
    need(models, "models");
    need(query, "query");
    need(result, "result");
    api::Networks networks;
    for (std::size_t i = 0; i < count; ++i) {
      need(names[i], "names");
      need(models[i], "models");
      if (!networks.emplace(names[i], models[i]->model).second)
        api::refuse("BF3413", "names", fmt::format("network '{}' is given twice", names[i]),
                    "give each network one model");
    }
    *result = new bf_aot_result{
        taken(api::verify(networks, std::string(query), verify_options(options)))};
  });
}

void bf_aot_result_free(bf_aot_result* result) {
  delete result;
}

bf_aot_verdict bf_aot_result_verdict(const bf_aot_result* result) {
  if (result == nullptr) return BF_AOT_UNKNOWN;
  switch (result->result.verdict) {
    case api::Verdict::kVerified:
      return BF_AOT_VERIFIED;
    case api::Verdict::kFalsified:
      return BF_AOT_FALSIFIED;
    case api::Verdict::kUnknown:
      return BF_AOT_UNKNOWN;
  }
  return BF_AOT_UNKNOWN;
}

double bf_aot_result_seconds(const bf_aot_result* result) {
  return result == nullptr ? 0 : result->result.seconds;
}

int bf_aot_result_stopped(const bf_aot_result* result) {
  return result != nullptr && result->result.stopped ? 1 : 0;
}

const char* bf_aot_result_no_proof(const bf_aot_result* result) {
  if (result == nullptr || !result->result.proof) return nullptr;
  return result->result.proof->missing.c_str();
}

const void* bf_aot_result_proof(const bf_aot_result* result, size_t* bytes) {
  const bool is_kept =
      result != nullptr && result->result.proof && !result->result.proof->certificate.empty();
  if (bytes != nullptr) *bytes = is_kept ? result->result.proof->certificate.size() : 0;
  return is_kept ? result->result.proof->certificate.data() : nullptr;
}

const double* bf_aot_result_input(const bf_aot_result* result) {
  if (result == nullptr) return nullptr;
  const auto& found = result->result.counterexample;
  return found ? found->input.data() : nullptr;
}

const double* bf_aot_result_output(const bf_aot_result* result) {
  if (result == nullptr) return nullptr;
  const auto& found = result->result.counterexample;
  return found ? found->output.data() : nullptr;
}

const char* bf_aot_result_exact(const bf_aot_result* result, size_t input) {
  if (result == nullptr) return nullptr;
  const auto& found = result->result.counterexample;
  return found && input < found->exact_input.size() ? found->exact_input[input].c_str() : nullptr;
}

bf_aot_error* bf_aot_certify(const bf_aot_model* model, const bf_aot_options* options,
                             const float* points, const float* lower, const float* upper,
                             const size_t* labels, size_t samples, int* robustness,
                             float* margins) {
  return run("certifying samples", [&] {
    need(model, "model");
    need(points, "points");
    need(lower, "lower");
    need(upper, "upper");
    need(labels, "labels");
    need(robustness, "robustness");
    api::CertifyOptions made;
    made.bounds.more = take(options, kOfCertify, made);
    made.stop = stop_of(options);
    const std::size_t numbers = numbers_of(samples, model->model.input_count(), "samples");
    numbers_of(samples, 1, "samples");
    const api::SampleBoxes boxes = {{points, numbers}, {lower, numbers}, {upper, numbers}};
    const api::Certifier certifier = taken(api::Certifier::make(model->model, made));
    const std::vector<api::CertifiedSample> all =
        taken(certifier.certify(boxes, std::span(labels, samples)));
    for (std::size_t i = 0; i < samples; ++i) {
      switch (all[i].robustness) {
        case api::Robustness::kCertified:
          robustness[i] = BF_AOT_CERTIFIED;
          break;
        case api::Robustness::kFalsified:
          robustness[i] = BF_AOT_REFUTED;
          break;
        case api::Robustness::kUnknown:
          robustness[i] = BF_AOT_UNDECIDED;
          break;
        case api::Robustness::kWrong:
          robustness[i] = BF_AOT_WRONG;
          break;
      }
      if (margins != nullptr) margins[i] = all[i].margin;
    }
  });
}

bf_aot_error* bf_aot_compile(const bf_aot_model* model, const char* source,
                             const bf_aot_options* options) {
  return run("compiling the model", [&] {
    need(model, "model");
    need(source, "source");
    api::CodeOptions made;
    made.plan.more = take(options, kOfCode, made);
    static_cast<void>(taken(api::compile_to_files(model->model, std::string(source), made)));
  });
}

}  // extern "C"
