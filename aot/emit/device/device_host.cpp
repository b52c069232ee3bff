#include <fmt/format.h>

#include "aot/emit/constants/weights.h"
#include "aot/emit/device/device.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/coverage.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/literals.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kHeader =
    R"(/* clang-format off */
#ifndef BF_VERIFIER_@NAME@_H
#define BF_VERIFIER_@NAME@_H

#include <stddef.h>

#include "bf.h"

#define @NAME@_ABI @abi@
#define @NAME@_INPUTS @inputs@
#define @NAME@_OUTPUTS @outputs@
#define @NAME@_SPEC_ROWS @rows@
/* Bytes of the device's memory: of each box of a batch, and once. */
#define @NAME@_BOX_BYTES @box@
#define @NAME@_WEIGHTS_BYTES @weights@
#define @NAME@_MODEL_SHA256 \
  "@sha256@"

#ifdef __cplusplus
extern "C" {
#endif

/* A device that has been probed, with this verifier on it. */
typedef struct @name@_device @name@_device;

)"  // one line: names of all lengths stand in it
    "/* Opens device number `index`, of all that @library@ has, in its order. Its compiler takes "
    "the verifier, which may last seconds, and its arithmetic is compared with this processor's. "
    "Null where it is refused, with the reason in `why`, a text of why_bytes bytes at most. */\n"
    R"(@name@_device *@name@_open_device(size_t index, char *why, size_t why_bytes);
void @name@_close_device(@name@_device *device);

/* Bounds of every output over each of `count` boxes, one after the other:
 *   out_lower[i] <= y_i(x) <= out_upper[i] for every x of the box.
 * statuses: count of them. What is wrong with a box, as BF_EMPTY_BOX, is its status, and its
 * outputs are not written. Returned is the first status that is not BF_OK; or, before anything is
 * written, BF_NULL_ARGUMENT, BF_BAD_COUNT for none, BF_FLOAT_ENVIRONMENT; or BF_DEVICE_FAILED,
 * where no outputs count. One thread at a time.@stream@ */
)";

constexpr std::string_view kEnd = R"(#ifdef __cplusplus
}
#endif

#endif /* BF_VERIFIER_@NAME@_H */
)";

constexpr std::string_view kOpenClConstants = R"(
#include "@stem@.h"

@include@ "bf/c/checks.h"
@include@ "host/opencl_device.h"

// ---- constants

#include "@stem@_weights.inc"

// ---- the source for the device

static const char* const source[] = {
#include "@stem@_cl.inc"
};

)";

constexpr std::string_view kCudaConstants = R"(// ---- calls of the host

#include "@stem@.h"

@include@ "bf/c/box.h"
@include@ "host/cuda_device.h"

)";

constexpr std::string_view kHost = R"(static const bf_device_table tables[] = {
@tables@};

static const bf_device_program program = {
    @source@, tables, @count@, @weights@, @arena@, @items@, @team@,
    @NAME@_INPUTS};

// ---- entry points

struct @name@_device {
  bf_@library@_device opened;
};

@extern@@name@_device *@name@_open_device(size_t index, char *why, size_t why_bytes) {
  @name@_device *const device = (@name@_device *)malloc(sizeof *device);
  if (device != NULL && bf_@library@_open(&device->opened, &program, index, @last@)) return device;
  if (why != NULL && why_bytes > 0)
    (void)snprintf(why, why_bytes, "%s", device == NULL ? "no memory" : device->opened.text);
  @name@_close_device(device);
  return NULL;
}

@extern@void @name@_close_device(@name@_device *device) {
  if (device == NULL) return;
  bf_@library@_close(&device->opened);
  free(device);
}

)";

constexpr std::string_view kFunction = R"(@extern@@prototype@ {
  bf_status first = BF_OK;
  if (device == NULL || lower == NULL || upper == NULL || out_lower == NULL || out_upper == NULL ||
      statuses == NULL)
    return BF_NULL_ARGUMENT;
  if (count == 0) return BF_BAD_COUNT;
@environment@  for (size_t i = 0; i < count; ++i) {
    statuses[i] = @check@(lower + i * @NAME@_INPUTS, upper + i * @NAME@_INPUTS, @NAME@_INPUTS@reach@);
    if (first == BF_OK) first = statuses[i];
  }
  if (!bf_@library@_bound(&device->opened, @entry@, count, lower, upper, @outputs@, out_lower,
                       out_upper, statuses@stream@))
    return BF_DEVICE_FAILED;
  return first;
}

)";

bool is_cuda(const Plan& plan) {
  return plan.config.language == Language::kCuda;
}

std::string prototype_of(const Plan& plan, const DeviceEntry& entry) {
  return fmt::format(
      "bf_status {0}_batch_device({1}_device *device, size_t count, const float *lower, const "
      "float "
      "*upper, float *out_lower, float *out_upper, bf_status *statuses{2})",
      entry.name, plan.name, is_cuda(plan) ? ", void *stream" : "");
}

std::string_view library_of(Language language) {
  return language == Language::kCuda ? "the CUDA runtime" : "OpenCL";
}

}  // namespace

std::string emit_device_header(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  std::string banner = emit_banner(plan, "guaranteed bounds on a network's outputs", " *");
  std::string text = "/*" + banner.substr(2) + " */\n";
  text += fill_in(
      kHeader,
      {{"abi", kAbi},
       {"inputs", plan.input_count},
       {"outputs", plan.output_count},
       {"rows", plan.spec_rows},
       {"box", device_arena_bytes(plan)},
       {"weights", blob_bytes(lowered.tables(), plan.config.target.align)},
       {"sha256", plan.model.sha256},
       {"library", library_of(plan.config.language)},
       {"stream", is_cuda(plan) ? "\n * stream: a cudaStream_t; null: the default one." : ""}},
      names_of(plan));
  for (const DeviceEntry& entry : device_entries(plan)) text += prototype_of(plan, entry) + ";\n\n";
  return text + fill_in(kEnd, {}, names_of(plan));
}

std::string emit_device_host(const Lowered& lowered, const std::string& stem) {
  const Plan& plan = lowered.plan();
  const bool cuda = is_cuda(plan);
  const Arguments names = {{"name", plan.name}, {"NAME", upper_case(plan.name)}};
  std::string tables;
  int count = 0;
  for (const WeightTable& table : lowered.tables()) {
    if (table.same_as >= 0) continue;
    tables += fmt::format("    {{{0}, sizeof {0}, {1}}},\n", table.name, table.offset);
    ++count;
  }
  std::string text;
  if (cuda)
    text = fill_in(kCudaConstants, {{"stem", stem}, {"include", "#include"}}) +
           emit_weight_arrays(lowered);
  else
    text = emit_banner(plan, "calls of a verifier on a device", "//") +
           fill_in(kOpenClConstants, {{"stem", stem}, {"include", "#include"}});
  const std::string_view library = cuda ? "cuda" : "opencl";
  text += fill_in(kHost,
                  {{"tables", tables},
                   {"source", cuda ? "NULL, 0" : "source, sizeof source / sizeof *source"},
                   {"count", count},
                   {"weights", blob_bytes(lowered.tables(), plan.config.target.align)},
                   {"arena", device_arena_bytes(plan)},
                   {"items", plan.config.items},
                   {"team", device_team_bytes(plan)},
                   {"library", library},
                   {"last", cuda ? "bf_probe" : "\"\""},
                   {"extern", cuda ? "extern \"C\" " : ""}},
                  names);
  const bool in_float = is_in_float32(plan.config.semantics);
  for (const DeviceEntry& entry : device_entries(plan))
    text += fill_in(
        kFunction,
        {{"prototype", prototype_of(plan, entry)},
         {"entry", cuda ? entry.name : "\"" + entry.name + "\""},
         {"check", in_float ? "bf_check_box_within" : "bf_check_box"},
         {"reach", in_float ? ", " + float_literal(static_cast<float>(plan.float32_reach)) : ""},
         {"outputs", entry.outputs},
         {"library", library},
         {"stream", cuda ? ", stream" : ""},
         {"environment", cuda ? "  if (!bf_device_host_is_ieee()) return BF_FLOAT_ENVIRONMENT;\n"
                              : "  if (!bf_float_environment_ok()) return BF_FLOAT_ENVIRONMENT;\n"},
         {"extern", cuda ? "extern \"C\" " : ""}},
        names);
  text.pop_back();
  return text;
}

std::string as_strings(const std::string& text) {
  std::string made;
  std::string line;
  for (const char c : text) {
    if (c == '"' || c == '\\') line += '\\';
    if (c != '\n') {
      line += c;
      continue;
    }
    made += "\"" + line + "\\n\",\n";
    line.clear();
  }
  return made;
}

}  // namespace bf_aot::emit
