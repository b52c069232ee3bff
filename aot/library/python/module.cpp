// The extension module bf_aot._native: the library's objects on NumPy arrays. Names, defaults and
// shapes of arguments are the business of the package around it.
//
// Calls release the interpreter's lock while the library works. Between boxes, and of bounds
// between tiles of rows, they take it, at most every kPause, to look for signals and to call the
// caller's functions; an exception ends the call.

#include <bf_aot/bf_aot.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nb = nanobind;
namespace api = bf_aot::api;
using namespace nb::literals;

namespace {

// Outputs, inputs, shapes, sets of token ids and fixed integers of load().
using IdSets = std::vector<std::vector<std::int64_t>>;
using PythonCut =
    std::tuple<std::vector<std::string>, std::vector<std::string>,
               std::map<std::string, std::vector<std::int64_t>>, std::map<std::string, IdSets>,
               std::map<std::string, std::vector<std::int64_t>>>;
api::Cut cut_of(const PythonCut& cut) {
  return {std::get<0>(cut), std::get<1>(cut), std::get<2>(cut), std::get<3>(cut), std::get<4>(cut)};
}

constexpr std::chrono::milliseconds kPause{20};

// Arrays of float32 or float64, row-major.
using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using FloatsThere = nb::ndarray<const float, nb::c_contig, nb::device::cuda>;
using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

nb::object to_exception(const api::Error& error) {
  nb::list others;
  for (const api::Error& each : error.others) others.append(to_exception(each));
  return nb::module_::import_("bf_aot._errors")
      .attr("Error")(error.code, error.where, error.message, error.hint, others);
}

[[noreturn]] void raise(const api::Error& error) {
  const nb::object exception = to_exception(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

// The value of a call that runs without the interpreter's lock.
template <class Body>
auto unlocked(const Body& body) {
  auto result = [&] {
    const nb::gil_scoped_release release;
    return body();
  }();
  if (!result) raise(result.error());
  return std::move(*result);
}

// Looks for signals while a call is at work, and passes its progress on. `progress` and `stop` are
// Python objects or None: a function, and an event with is_set().
class Watch {
 public:
  Watch(nb::object progress, nb::object stop)
      : progress_(std::move(progress)), stop_(std::move(stop)) {}

  std::stop_token token() const { return source_.get_token(); }

  // Takes the interpreter's lock, looks for signals, gives `progress` to `tell` and asks `stop`:
  // once a kPause, or at once if urgent. Called on the thread of the call, without the lock.
  template <class Tell>
  void tick(bool urgent, const Tell& tell) {
    const auto now = std::chrono::steady_clock::now();
    if (thrown_ || (!urgent && now - last_ < kPause)) return;
    last_ = now;
    const nb::gil_scoped_acquire locked;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress_.is_none()) tell(progress_);
      if (!stop_.is_none() && nb::cast<bool>(stop_.attr("is_set")())) source_.request_stop();
    } catch (...) {
      thrown_ = std::current_exception();
      source_.request_stop();
    }
  }

  // Throws what a function of the caller's threw. It is called after the call, since that comes
  // before the call's own error.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  nb::object progress_, stop_;
  std::stop_source source_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::exception_ptr thrown_;
};

template <class Body>
auto watched(const Watch& watch, const Body& body) {
  auto result = [&] {
    const nb::gil_scoped_release release;
    return body();
  }();
  watch.rethrow();
  if (!result) raise(result.error());
  return std::move(*result);
}

// An array that owns the numbers; none is copied.
nb::object to_array(std::vector<float> numbers, const std::vector<std::size_t>& shape) {
  auto kept = std::make_unique<std::vector<float>>(std::move(numbers));
  float* const data = kept->data();
  const nb::capsule owner(kept.get(),
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  kept.release();
  return nb::cast(nb::ndarray<nb::numpy, float>(data, shape.size(), shape.data(), owner));
}

template <class T>
std::span<const T> span_of(const Array& array) {
  return {static_cast<const T*>(array.data()), array.size()};
}

std::vector<double> vector_of(const std::optional<Doubles>& array) {
  return array ? std::vector<double>(array->data(), array->data() + array->size())
               : std::vector<double>();
}

std::span<const double> doubles_of(const std::optional<Doubles>& array) {
  return array ? std::span<const double>(array->data(), array->size()) : std::span<const double>();
}

bool is_float32(const Array& array) {
  return array.dtype() == nb::dtype<float>();
}

// Options are given by their names in the library's table.
using Texts = std::map<std::string, std::string>;

// A call that bounds so many boxes, watched.
api::Call bounds_call(Watch& watch, std::size_t boxes) {
  api::Call call;
  call.stop = watch.token();
  call.watch = [&watch, boxes](const api::Watched& at) {
    watch.tick(at.done == boxes, [&](const nb::object& told) {
      told(at.done, boxes, at.share, static_cast<int>(at.method));
    });
  };
  return call;
}

// Bounds of the outputs, or of the rows, as two arrays of shape `batch` + (rows,), and the number
// of each box's method. `progress` gets the boxes that are done, all boxes, the share of the work
// and the number of the method.
nb::tuple bounds(const api::Verifier& verifier, bool rows, const Array& lower, const Array& upper,
                 std::vector<std::size_t> batch, nb::object progress, double timeout) {
  if (lower.dtype() != upper.dtype() ||
      (!is_float32(lower) && lower.dtype() != nb::dtype<double>()))
    throw nb::type_error("both ends must be float32, or both float64");
  const std::size_t boxes = lower.size() / verifier.input_count();
  Watch watch(std::move(progress), nb::none());
  api::Call call = bounds_call(watch, boxes);
  call.timeout_seconds = timeout;
  const auto bound = [&](const auto& low, const auto& high) {
    return rows ? verifier.spec_bounds(low, high, call) : verifier.bounds(low, high, call);
  };
  api::Bounds made = watched(watch, [&] {
    return is_float32(lower) ? bound(span_of<float>(lower), span_of<float>(upper))
                             : bound(span_of<double>(lower), span_of<double>(upper));
  });
  batch.push_back(made.rows);
  nb::list methods;
  for (const api::Method method : made.methods) methods.append(static_cast<int>(method));
  return nb::make_tuple(to_array(std::move(made.lower), batch),
                        to_array(std::move(made.upper), batch), methods);
}

// Boxes in the memory of a device of CUDA, whose arrays are taken by DLPack, without copies: what
// their owner has done on the default stream comes first.
nb::tuple bounds_there(const api::Verifier& verifier, bool rows, const FloatsThere& lower,
                       const FloatsThere& upper, std::vector<std::size_t> batch,
                       nb::object progress) {
  if (lower.size() != upper.size() || lower.size() % verifier.input_count() != 0)
    throw nb::value_error("the ends of boxes have other shapes");
  const api::DeviceBoxes boxes = {lower.size() / verifier.input_count(), lower.data(),
                                  upper.data()};
  Watch watch(std::move(progress), nb::none());
  const api::Call call = bounds_call(watch, boxes.boxes);
  api::Bounds made = watched(watch, [&] {
    return rows ? verifier.spec_bounds(boxes, call) : verifier.bounds(boxes, call);
  });
  batch.push_back(made.rows);
  nb::list methods;
  for (const api::Method method : made.methods) methods.append(static_cast<int>(method));
  return nb::make_tuple(to_array(std::move(made.lower), batch),
                        to_array(std::move(made.upper), batch), methods);
}

nb::object evaluate(const api::Verifier& verifier, const Array& x, std::vector<std::size_t> batch) {
  if (!is_float32(x)) throw nb::type_error("x must be float32");
  std::vector<float> y = unlocked([&] { return verifier.evaluate(span_of<float>(x)); });
  batch.push_back(verifier.output_count());
  return to_array(std::move(y), batch);
}

nb::object to_python(const std::optional<api::Counterexample>& example) {
  if (!example) return nb::none();
  nb::dict made;
  made["input"] = example->input;
  made["exact_input"] = example->exact_input;
  made["output"] = example->output;
  made["case"] = example->property_case;
  made["clause"] = example->clause;
  made["rational"] = example->rational;
  nb::list networks;
  for (const api::NetworkShare& each : example->networks)
    networks.append(nb::make_tuple(each.name, each.inputs, each.outputs));
  made["networks"] = networks;
  return made;
}

nb::dict to_python(const api::VerifyResult& result) {
  nb::dict made;
  nb::list methods;
  for (const api::Method method : result.methods) methods.append(api::to_string(method));
  made["verdict"] = api::to_string(result.verdict);
  made["stopped"] = result.stopped;
  made["counterexample"] = to_python(result.counterexample);
  made["cases"] = result.cases;
  made["verified_cases"] = result.verified_cases;
  made["methods"] = methods;
  made["boxes"] = result.boxes;
  made["nodes"] = result.nodes;
  made["difference_boxes"] = result.difference_boxes;
  made["points"] = result.points;
  made["seconds"] = result.seconds;
  made["plan_seconds"] = result.plan_seconds;
  made["proof"] = nb::none();
  if (result.proof) {
    nb::dict proof;
    proof["bytes"] = result.proof->bytes;
    proof["leaves"] = result.proof->leaves;
    proof["seconds"] = result.proof->seconds;
    proof["missing"] = result.proof->missing;
    proof["rechecked"] = result.proof->rechecked;
    const std::string& kept = result.proof->certificate;
    proof["kept"] = nb::bytes(kept.data(), kept.size());
    made["proof"] = proof;
  }
  return made;
}

const char* name_of(api::Phase phase) {
  return phase == api::Phase::kBound ? "bound" : phase == api::Phase::kSearch ? "search" : "split";
}

// subject: a Model, or Networks.
template <class Subject>
nb::dict verify(const Subject& subject, const std::string& text,
                const std::optional<std::filesystem::path>& path, const Texts& more,
                nb::object progress, nb::object stop) {
  Watch watch(std::move(progress), std::move(stop));
  api::VerifyOptions options;
  options.more = more;
  options.stop = watch.token();
  std::optional<api::Phase> phase;
  options.progress = [&](const api::Progress& at) {
    const bool changed = phase != at.phase;
    phase = at.phase;
    watch.tick(changed, [&](const nb::object& told) {
      told(name_of(at.phase), at.cases_done, at.cases, at.boxes, at.proven);
    });
  };
  return to_python(watched(watch, [&] {
    return path ? api::verify(subject, *path, options) : api::verify_text(subject, text, options);
  }));
}

nb::list cells_of(const std::vector<api::BoxCell>& cells) {
  nb::list made;
  for (const api::BoxCell& each : cells) made.append(nb::make_tuple(each.lower, each.upper));
  return made;
}

nb::list measure(const api::Model& model, const std::string& text,
                 const std::optional<std::filesystem::path>& path, const Texts& more,
                 const std::string& width) {
  api::MeasureOptions options;
  options.verify.more = more;
  options.width = width;
  const api::MeasureResult result = unlocked([&] {
    return path ? api::measure(model, *path, options) : api::measure_text(model, text, options);
  });
  nb::list made;
  for (const api::MeasuredCase& each : result.cases) {
    nb::dict one;
    one["proven"] = each.proven.exact;
    one["refuted"] = each.refuted.exact;
    one["open"] = each.open.exact;
    one["bounded"] = each.bounded;
    one["reached"] = each.reached;
    one["inner"] = cells_of(each.refuted_cells);
    one["open_cells"] = cells_of(each.open_cells);
    made.append(one);
  }
  return made;
}

nb::dict compare(const api::Model& first, const api::Model& second, const Doubles& lower,
                 const Doubles& upper, const Texts& more, std::optional<double> within,
                 bool classes, double seconds, int jobs, nb::object stop) {
  Watch watch(nb::none(), std::move(stop));
  api::CompareOptions options;
  options.verify.more = more;
  options.verify.jobs = jobs;
  options.verify.stop = watch.token();
  options.within = within;
  options.classes = classes;
  options.seconds = seconds;
  const api::CompareResult result = watched(watch, [&] {
    return api::compare(first, second, std::span(lower.data(), lower.size()),
                        std::span(upper.data(), upper.size()), options);
  });
  const auto verdict = [](const std::optional<api::VerifyResult>& each) -> nb::object {
    return each ? nb::object(to_python(*each)) : nb::none();
  };
  nb::dict made;
  made["lower"] = result.lower;
  made["upper"] = result.upper;
  made["proven"] = result.proven;
  made["attained"] = result.attained;
  made["output"] = result.output;
  made["exact_point"] = result.exact_point;
  made["within"] = verdict(result.within);
  made["classes"] = verdict(result.classes);
  made["seconds"] = result.seconds;
  return made;
}

// tubes: seconds, jobs, order, symbols, drawing.
nb::dict reach(const std::string& text, const std::optional<std::filesystem::path>& path,
               const std::map<std::string, api::Model>& networks, const Texts& more,
               const nb::dict& tubes, nb::object progress, nb::object stop) {
  Watch watch(std::move(progress), std::move(stop));
  api::ReachOptions options;
  options.networks = networks;
  options.more = more;
  options.stop = watch.token();
  const auto take = [&tubes](const char* key, auto& field) {
    field = nb::cast<std::remove_reference_t<decltype(field)>>(tubes[key]);
  };
  take("seconds", options.seconds);
  take("jobs", options.jobs);
  take("order", options.order);
  take("symbols", options.symbols);
  take("drawing", options.drawing);
  options.progress = [&](const api::ReachProgress& at) {
    watch.tick(false, [&](const nb::object& told) { told(at.tubes, at.proven); });
  };
  const api::ReachResult result = watched(
      watch, [&] { return path ? api::reach(*path, options) : api::reach_text(text, options); });
  nb::dict made;
  made["json"] = result.json;
  made["svg"] = result.svg;
  return made;
}

struct Code {
  api::CodeOptions options;
  api::Specification specification;
};

Code code_of(const api::Options& plan, const std::optional<Doubles>& rows,
             const std::optional<Doubles>& offsets, const nb::dict& more) {
  Code code;
  code.options.plan = plan;
  code.specification = {vector_of(rows), vector_of(offsets)};
  const auto take = [&more](const char* key, auto& field) {
    field = nb::cast<std::remove_reference_t<decltype(field)>>(more[key]);
  };
  take("target", code.options.target);
  take("items", code.options.items);
  take("name", code.options.name);
  take("property", code.options.property);
  take("property_file", code.options.property_file);
  take("decide", code.options.decide);
  take("single_file", code.options.single_file);
  take("dispatch", code.options.dispatch);
  take("library", code.options.library);
  take("cxx", code.options.cxx);
  take("cxx_flags", code.options.cxx_flags);
  const auto arithmetic = api::arithmetic_named(nb::cast<std::string>(more["arithmetic"]));
  if (!arithmetic)
    raise({"BF3501",
           "arithmetic",
           "there is no such arithmetic",
           "choose one of float, integer, auto",
           {}});
  code.options.arithmetic = *arithmetic;
  return code;
}

// The samples' status, answer, rival and margin, and counterexamples by index.
nb::tuple certify(const api::Certifier& certifier, const Floats& samples, const Floats& lower,
                  const Floats& upper, const Doubles& inner_lower, const Doubles& inner_upper,
                  const Doubles& range_lower, const Doubles& range_upper,
                  const std::vector<std::size_t>& labels, double timeout, nb::object progress) {
  const auto span = [](const auto& array) { return std::span(array.data(), array.size()); };
  const api::SampleBoxes boxes = {span(samples),     span(lower),       span(upper),
                                  span(inner_lower), span(inner_upper), span(range_lower),
                                  span(range_upper)};
  Watch watch(std::move(progress), nb::none());
  api::CertifyCall call;
  call.timeout_seconds = timeout;
  call.stop = watch.token();
  const std::thread::id caller = std::this_thread::get_id();
  std::size_t decided = 0;
  const auto tick = [&] {
    if (std::this_thread::get_id() == caller)
      watch.tick(false, [&](const nb::object& told) { told(decided, labels.size()); });
  };
  call.decided = [&](std::size_t, const api::CertifiedSample&) {
    ++decided;
    tick();
  };
  call.wanted = [&](std::size_t) {
    tick();
    return true;
  };
  const std::vector<api::CertifiedSample> made =
      watched(watch, [&] { return certifier.certify(boxes, labels, call); });
  nb::list status, answers, rivals, margins, stages;
  nb::dict counterexamples;
  for (std::size_t i = 0; i < made.size(); ++i) {
    status.append(api::to_string(made[i].robustness));
    answers.append(made[i].answer);
    rivals.append(made[i].rival);
    margins.append(made[i].margin);
    stages.append(api::to_string(made[i].stage));
    if (!made[i].counterexample.empty()) counterexamples[nb::int_(i)] = made[i].counterexample;
  }
  return nb::make_tuple(status, answers, rivals, margins, counterexamples, stages);
}

nb::dict explain(const api::Certifier& certifier, const Floats& sample, const Floats& lower,
                 const Floats& upper, const Doubles& inner_lower, const Doubles& inner_upper,
                 const Doubles& range_lower, const Doubles& range_upper, std::size_t label) {
  const auto span = [](const auto& array) { return std::span(array.data(), array.size()); };
  const api::SampleBoxes box = {span(sample),      span(lower),       span(upper),
                                span(inner_lower), span(inner_upper), span(range_lower),
                                span(range_upper)};
  const api::Explanation found = unlocked([&] { return certifier.explain(box, label); });
  nb::dict made;
  made["exists"] = found.exists;
  made["fixed"] = found.fixed;
  made["minimal"] = found.minimal;
  made["smallest"] = found.smallest;
  return made;
}

// The samples' status, answer, rival, margin, certified share and parts, and by index parameters
// and inputs of the falsified.
nb::tuple certify_disturbed(const api::DisturbanceCertifier& certifier, const Doubles& pictures,
                            const std::vector<std::size_t>& labels, nb::object progress) {
  Watch watch(std::move(progress), nb::none());
  api::DisturbCall call;
  call.stop = watch.token();
  std::size_t done = 0;
  call.done = [&](std::size_t, const api::DisturbedSample&) {
    ++done;
    watch.tick(false, [&](const nb::object& told) { told(done, labels.size()); });
  };
  const std::vector<api::DisturbedSample> made = watched(watch, [&] {
    return certifier.certify(std::span(pictures.data(), pictures.size()), labels, call);
  });
  nb::list status, answers, rivals, margins, shares, cells;
  nb::dict parameters, inputs;
  for (std::size_t i = 0; i < made.size(); ++i) {
    status.append(api::to_string(made[i].robustness));
    answers.append(made[i].answer);
    rivals.append(made[i].rival);
    margins.append(made[i].margin);
    shares.append(made[i].certified);
    cells.append(made[i].cells);
    if (made[i].counterexample.empty()) continue;
    parameters[nb::int_(i)] = made[i].parameters;
    inputs[nb::int_(i)] = made[i].counterexample;
  }
  return nb::make_tuple(status, answers, rivals, margins, shares, cells, parameters, inputs);
}

// In place.
void hold_balls(nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> lower,
                nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> upper,
                const std::string& norm) {
  const auto named = api::norm_named(norm);
  if (!named || lower.size() != upper.size()) throw nb::value_error("boxes and a norm are needed");
  api::hold_balls({lower.data(), lower.size()}, {upper.data(), upper.size()}, lower.shape(1),
                  *named);
}

nb::list tensors(const std::vector<api::Tensor>& of) {
  nb::list made;
  for (const api::Tensor& each : of)
    made.append(nb::make_tuple(each.name, nb::tuple(nb::cast(each.shape))));
  return made;
}

}  // namespace

NB_MODULE(_native, m) {
  nb::set_leak_warnings(false);  // of objects that live until the interpreter ends

  nb::class_<api::Options>(m, "Options")
      .def("__init__", [](api::Options* self, const Texts& more, int threads) {
        auto* const options = new (self) api::Options();
        options->more = more;
        options->threads = threads;
      });

  nb::class_<api::Verifier>(m, "Verifier")
      .def_prop_ro("input_count", &api::Verifier::input_count)
      .def_prop_ro("output_count", &api::Verifier::output_count)
      .def_prop_ro("spec_rows", &api::Verifier::spec_rows)
      .def_prop_ro("workspace_bytes", &api::Verifier::workspace_bytes)
      .def_prop_ro("predicted_seconds", &api::Verifier::predicted_seconds)
      .def("bounds", &bounds, "rows"_a, "lower"_a.noconvert(), "upper"_a.noconvert(), "batch"_a,
           "progress"_a.none(), "timeout"_a)
      .def("bounds_there", &bounds_there, "rows"_a, "lower"_a.noconvert(), "upper"_a.noconvert(),
           "batch"_a, "progress"_a.none())
      .def("evaluate", &evaluate, "x"_a.noconvert(), "batch"_a);

  nb::class_<api::Certifier>(m, "Certifier")
      .def("certify", &certify, "samples"_a, "lower"_a, "upper"_a, "inner_lower"_a, "inner_upper"_a,
           "range_lower"_a, "range_upper"_a, "labels"_a, "timeout"_a, "progress"_a.none())
      .def("explain", &explain, "sample"_a, "lower"_a, "upper"_a, "inner_lower"_a, "inner_upper"_a,
           "range_lower"_a, "range_upper"_a, "label"_a);

  nb::class_<api::DisturbanceCertifier>(m, "DisturbanceCertifier")
      .def_prop_ro("parameters", &api::DisturbanceCertifier::parameters)
      .def("certify", &certify_disturbed, "pictures"_a, "labels"_a, "progress"_a.none());

  nb::class_<api::Model>(m, "Model")
      .def_static("load",
                  [](const std::filesystem::path& path, const PythonCut& cut) {
                    return unlocked([&] { return api::Model::load(path, cut_of(cut)); });
                  })
      .def_static("from_bytes",
                  [](const nb::bytes& bytes, const std::string& name, const PythonCut& cut) {
                    const std::span<const char> all(bytes.c_str(), bytes.size());
                    return unlocked([&] {
                      return api::Model::from_bytes(std::as_bytes(all), name, cut_of(cut));
                    });
                  })
      .def(
          "derivative",
          [](const api::Model& model, const std::vector<std::size_t>& inputs) {
            return unlocked([&] { return model.derivative(inputs); });
          },
          "inputs"_a)
      .def_prop_ro("inputs", [](const api::Model& model) { return tensors(model.inputs()); })
      .def_prop_ro("outputs", [](const api::Model& model) { return tensors(model.outputs()); })
      .def_prop_ro("token_sets", [](const api::Model& model) { return model.token_sets(); })
      .def(
          "box_of_ids",
          [](const api::Model& model, const IdSets& sets) {
            const api::Ends ends = unlocked([&] { return model.box_of_ids(sets); });
            return nb::make_tuple(to_array(ends.lower, {ends.lower.size()}),
                                  to_array(ends.upper, {ends.upper.size()}));
          },
          "sets"_a)
      .def_prop_ro("input_count", &api::Model::input_count)
      .def_prop_ro("output_count", &api::Model::output_count)
      .def_prop_ro("parameter_count", &api::Model::parameter_count)
      .def_prop_ro("sha256", &api::Model::sha256)
      .def(
          "verifier",
          [](const api::Model& model, const api::Options& options,
             const std::optional<Doubles>& rows, const std::optional<Doubles>& offsets) {
            const api::Specification specification = {vector_of(rows), vector_of(offsets)};
            return unlocked([&] { return api::Verifier::make(model, options, specification); });
          },
          "options"_a, "rows"_a.none(), "offsets"_a.none())
      .def(
          "certifier",
          [](const api::Model& model, const api::Options& bounds, bool decide, double seconds,
             bool complete) {
            api::CertifyOptions options;
            options.bounds = bounds;
            options.decide = decide;
            options.decide_seconds = seconds;
            if (complete) options.stages = api::complete_stages();
            return unlocked([&] { return api::Certifier::make(model, options); });
          },
          "options"_a, "decide"_a, "decide_seconds"_a, "complete"_a)
      .def(
          "disturbance_certifier",
          [](const api::Model& model, const api::Options& bounds,
             const std::vector<std::string>& disturbances, const std::vector<std::size_t>& shape,
             bool channels_last, const std::map<std::string, std::vector<std::string>>& numbers,
             double seconds) {
            api::DisturbOptions options;
            options.disturbances = disturbances;
            options.channels = shape.at(0);
            options.height = shape.at(1);
            options.width = shape.at(2);
            options.channels_last = channels_last;
            if (const auto scale = numbers.at("scale"); !scale.empty()) options.scale = scale[0];
            options.clip = numbers.at("clip");
            options.mean = numbers.at("mean");
            options.deviation = numbers.at("std");
            options.bounds = bounds;
            options.seconds = seconds;
            return unlocked([&] { return api::DisturbanceCertifier::make(model, options); });
          },
          "options"_a, "disturbances"_a, "shape"_a, "channels_last"_a, "numbers"_a, "seconds"_a)
      .def("verify", &verify<api::Model>, "text"_a, "path"_a.none(), "more"_a, "progress"_a.none(),
           "stop"_a.none())
      .def("measure", &measure, "text"_a, "path"_a.none(), "more"_a, "width"_a)
      .def("compare", &compare, "other"_a, "lower"_a, "upper"_a, "more"_a, "within"_a.none(),
           "classes"_a, "seconds"_a, "jobs"_a, "stop"_a.none())
      .def(
          "compile",
          [](const api::Model& model, const std::string& stem, const api::Options& plan,
             const std::optional<Doubles>& rows, const std::optional<Doubles>& offsets,
             const nb::dict& more) {
            const Code code = code_of(plan, rows, offsets, more);
            nb::dict made;
            for (const api::File& file : unlocked(
                     [&] { return api::compile(model, stem, code.options, code.specification); }))
              made[file.name.c_str()] = nb::bytes(file.bytes.data(), file.bytes.size());
            return made;
          },
          "stem"_a, "plan"_a, "rows"_a.none(), "offsets"_a.none(), "more"_a)
      .def(
          "compile_to_files",
          [](const api::Model& model, const std::filesystem::path& source, const api::Options& plan,
             const std::optional<Doubles>& rows, const std::optional<Doubles>& offsets,
             const nb::dict& more) {
            const Code code = code_of(plan, rows, offsets, more);
            return unlocked([&] {
              return api::compile_to_files(model, source, code.options, code.specification);
            });
          },
          "source"_a, "plan"_a, "rows"_a.none(), "offsets"_a.none(), "more"_a)
      .def(
          "report",
          [](const api::Model& model, const api::Options& options,
             const std::optional<Doubles>& rows, const std::optional<Doubles>& offsets,
             const std::optional<Doubles>& lower, const std::optional<Doubles>& upper) {
            const api::Specification specification = {vector_of(rows), vector_of(offsets)};
            return unlocked([&] {
              return api::report(model, options, specification, doubles_of(lower),
                                 doubles_of(upper));
            });
          },
          "options"_a, "rows"_a.none(), "offsets"_a.none(), "lower"_a.none(), "upper"_a.none());

  m.def("verify", &verify<api::Networks>, "networks"_a, "text"_a, "path"_a.none(), "more"_a,
        "progress"_a.none(), "stop"_a.none());
  m.def("reach", &reach, "text"_a, "path"_a.none(), "networks"_a, "more"_a, "tubes"_a,
        "progress"_a.none(), "stop"_a.none());
  m.def("hold_balls", &hold_balls, "lower"_a.noconvert(), "upper"_a.noconvert(), "norm"_a);

  // Names for the numbers that the calls above take and give.
  nb::list methods, options;
  for (const api::OptionInfo& each : api::option_infos()) {
    options.append(nb::make_tuple(each.name, each.choices, each.of_decisions));
    if (each.name == "method") methods = nb::cast<nb::list>(nb::cast(each.choices));
  }
  m.attr("METHODS") = methods;
  m.attr("OPTIONS") = options;
  m.attr("__version__") = BF_AOT_PYTHON_VERSION;
}
