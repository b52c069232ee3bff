/* Each call of the C interface: main MODELS FOLDER [cuda]. Prints what it found. With cuda there is
 * a device, whose memory is this program's: the false one of tests/cli/device. */
#include <bf_aot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 64

static void check(bf_aot_error* error) {
  if (error == NULL) return;
  fputs(bf_aot_error_text(error), stderr);
  bf_aot_error_free(error);
  exit(1);
}

static const char* path(const char* folder, const char* name) {
  static char text[4096];
  if (strlen(folder) + strlen(name) + 2 > sizeof text) exit(1);
  sprintf(text, "%s/%s", folder, name);
  return text;
}

static void refused(bf_aot_error* error, const char* code) {
  if (error == NULL || strcmp(bf_aot_error_code(error), code) != 0 ||
      bf_aot_error_message(error)[0] == '\0') {
    fprintf(stderr, "not refused as %s\n", code);
    exit(1);
  }
  printf("%s %s\n", bf_aot_error_code(error), bf_aot_error_place(error));
  bf_aot_error_free(error);
}

static void bound(const char* models) {
  bf_aot_model* model = NULL;
  bf_aot_verifier* verifier = NULL;
  bf_aot_options* options = NULL;
  double lower[2 * SIDE], upper[2 * SIDE], rows[10] = {1, -1};
  float low[20], high[20];
  float row_low[2], row_high[2];
  size_t extents[4] = {0}, i;
  check(bf_aot_model_load(path(models, "digits_64x2.onnx"), &model));
  printf("%lu inputs, %lu outputs, %lu tensor %s of rank %lu, digest of %lu digits\n",
         (unsigned long)bf_aot_model_elements(model, BF_AOT_INPUTS),
         (unsigned long)bf_aot_model_elements(model, BF_AOT_OUTPUTS),
         (unsigned long)bf_aot_model_tensors(model, BF_AOT_INPUTS),
         bf_aot_model_tensor_name(model, BF_AOT_INPUTS, 0),
         (unsigned long)bf_aot_model_tensor_shape(model, BF_AOT_INPUTS, 0, extents, 4),
         (unsigned long)strlen(bf_aot_model_sha256(model)));
  if (bf_aot_model_tensor_name(model, BF_AOT_OUTPUTS, 1) != NULL) exit(1);
  check(bf_aot_options_make(&options));
  check(bf_aot_options_set(options, "method", "crown-ibp"));
  check(bf_aot_options_set(options, "row-tile", "16"));
  check(bf_aot_options_set(options, "threads", "2"));
  refused(bf_aot_options_set(options, "mehtod", "crown"), "BF3501");
  check(bf_aot_verifier_make(model, options, rows, NULL, 1, &verifier));
  for (i = 0; i < 2 * SIDE; ++i) {
    lower[i] = i < SIDE ? 0.45 : 0.46;
    upper[i] = 0.5;
  }
  check(bf_aot_verifier_bounds(verifier, lower, upper, 2, low, high));
  check(bf_aot_verifier_row_bounds(verifier, lower, upper, 2, row_low, row_high));
  for (i = 0; i < 10; ++i)
    if (!(low[i] <= low[10 + i] && low[10 + i] <= high[10 + i] && high[10 + i] <= high[i])) exit(1);
  printf("output 0: [%.9g, %.9g]\n", (double)low[0], (double)high[0]);
  printf("row 0: [%.9g, %.9g]\n", (double)row_low[0], (double)row_high[0]);
  lower[3] = 2;
  refused(bf_aot_verifier_bounds(verifier, lower, upper, 2, low, high), "BF3503");
  refused(bf_aot_verifier_bounds(verifier, NULL, upper, 2, low, high), "BF3502");
  check(bf_aot_options_set(options, "method", "none"));
  refused(bf_aot_verifier_make(model, options, NULL, NULL, 0, &verifier), "BF3501");
  bf_aot_options_free(options);
  bf_aot_verifier_free(verifier);
  bf_aot_model_free(model);
  refused(bf_aot_model_load(path(models, "none.onnx"), &model), "BF1001");
  refused(bf_aot_model_read("text", 4, "text.onnx", &model), "BF1004");
}

static void bound_there(const char* models) {
  enum { BOXES = 3 };
  bf_aot_model* model = NULL;
  bf_aot_verifier* verifier = NULL;
  bf_aot_verifier* here = NULL;
  bf_aot_options* options = NULL;
  double wide_lower[BOXES * SIDE], wide_upper[BOXES * SIDE], rows[10] = {1, -1};
  float lower[BOXES * SIDE], upper[BOXES * SIDE];
  float low[2][BOXES * 10], high[2][BOXES * 10], row_low[2][BOXES], row_high[2][BOXES];
  size_t i;
  for (i = 0; i < BOXES * SIDE; ++i) {
    wide_lower[i] = lower[i] = (float)(i % 5) / 16;
    wide_upper[i] = upper[i] = lower[i] + 1.0f / 32;
  }
  check(bf_aot_model_load(path(models, "digits_64x2.onnx"), &model));
  check(bf_aot_options_make(&options));
  check(bf_aot_options_set(options, "method", "ibp"));
  check(bf_aot_verifier_make(model, options, rows, NULL, 1, &here));
  check(bf_aot_options_set(options, "device", "cuda"));
  check(bf_aot_verifier_make(model, options, rows, NULL, 1, &verifier));
  check(bf_aot_verifier_bounds(verifier, wide_lower, wide_upper, BOXES, low[0], high[0]));
  check(bf_aot_verifier_bounds_there(verifier, lower, upper, BOXES, NULL, low[1], high[1]));
  check(
      bf_aot_verifier_row_bounds(verifier, wide_lower, wide_upper, BOXES, row_low[0], row_high[0]));
  check(bf_aot_verifier_row_bounds_there(verifier, lower, upper, BOXES, NULL, row_low[1],
                                         row_high[1]));
  if (memcmp(low[0], low[1], sizeof low[0]) != 0 || memcmp(high[0], high[1], sizeof high[0]) != 0 ||
      memcmp(row_low[0], row_low[1], sizeof row_low[0]) != 0 ||
      memcmp(row_high[0], row_high[1], sizeof row_high[0]) != 0)
    exit(1);
  printf("there: [%.9g, %.9g]\n", (double)low[1][0], (double)high[1][0]);
  refused(bf_aot_verifier_bounds_there(here, lower, upper, BOXES, NULL, low[1], high[1]), "BF3502");
  refused(bf_aot_verifier_bounds_there(verifier, NULL, upper, BOXES, NULL, low[1], high[1]),
          "BF3502");
  upper[SIDE + 7] = -1;
  refused(bf_aot_verifier_row_bounds_there(verifier, lower, upper, BOXES, NULL, row_low[1],
                                           row_high[1]),
          "BF3503");
  bf_aot_options_free(options);
  bf_aot_verifier_free(verifier);
  bf_aot_verifier_free(here);
  bf_aot_model_free(model);
}

static void decide(const char* models) {
  bf_aot_model* model = NULL;
  bf_aot_result* result = NULL;
  bf_aot_options* options = NULL;
  const char* const names[2] = {"f", "g"};
  const bf_aot_model* networks[2];
  check(bf_aot_model_load(path(models, "tiny.onnx"), &model));
  check(bf_aot_options_make(&options));
  check(bf_aot_options_set(options, "jobs", "1"));
  check(bf_aot_options_set(options, "timeout", "60"));
  check(bf_aot_verify(model, path(models, "properties/tiny_holds.vnnlib"), options, &result));
  if (bf_aot_result_verdict(result) != BF_AOT_VERIFIED || bf_aot_result_input(result) != NULL ||
      bf_aot_result_exact(result, 0) != NULL || bf_aot_result_seconds(result) < 0)
    exit(1);
  bf_aot_result_free(result);
  check(bf_aot_verify(model, path(models, "properties/tiny_violated.vnnlib"), NULL, &result));
  if (bf_aot_result_verdict(result) != BF_AOT_FALSIFIED || bf_aot_result_output(result) == NULL)
    exit(1);
  printf("falsified at %s, %s\n", bf_aot_result_exact(result, 0), bf_aot_result_exact(result, 1));
  bf_aot_result_free(result);
  check(bf_aot_verify_text(
      model,
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))"
      "(assert (<= X_1 1))(assert (>= Y_0 1000))",
      NULL, &result));
  if (bf_aot_result_verdict(result) != BF_AOT_VERIFIED) exit(1);
  bf_aot_result_free(result);
  networks[0] = networks[1] = model;
  check(bf_aot_verify_networks(names, networks, 2, path(models, "properties/tiny_twice.vnnlib"),
                               NULL, &result));
  if (bf_aot_result_verdict(result) != BF_AOT_VERIFIED) exit(1);
  bf_aot_result_free(result);
  refused(bf_aot_verify_networks(names, networks, 1, path(models, "properties/tiny_twice.vnnlib"),
                                 NULL, &result),
          "BF3413");
  check(bf_aot_options_set(options, "target", "cortex-m4"));
  refused(bf_aot_verify(model, path(models, "properties/tiny_holds.vnnlib"), options, &result),
          "BF3501");
  bf_aot_options_free(options);
  bf_aot_model_free(model);
}

/* Progress that ends its call in the given phase. */
struct watched {
  bf_aot_options* options;
  bf_aot_phase last;
  size_t told;
};

static void watch(const bf_aot_progress* progress, void* context) {
  struct watched* at = (struct watched*)context;
  if (progress->proven < 0 || progress->proven > 1 || progress->cases_done > progress->cases)
    exit(1);
  ++at->told;
  if (progress->phase == at->last) bf_aot_stop(at->options);
}

static void stop(const char* models, const char* folder) {
  bf_aot_model* model = NULL;
  bf_aot_verifier* verifier = NULL;
  bf_aot_result* result = NULL;
  struct watched at = {NULL, BF_AOT_SPLIT, 0};
  double x[2] = {0, 0};
  float low[2], high[2];
  size_t bytes = 0;
  FILE* file;
  check(bf_aot_model_load(path(models, "tiny.onnx"), &model));
  check(bf_aot_options_make(&at.options));
  check(bf_aot_options_progress(at.options, watch, &at));
  check(bf_aot_verifier_make(model, at.options, NULL, NULL, 0, &verifier));
  check(bf_aot_options_set(at.options, "branch-seconds", "1000"));
  /* No box is decided where both outputs have one value, which is attained nowhere. */
  check(bf_aot_verify_text(
      model,
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))"
      "(assert (<= X_1 1))(assert (= Y_0 (- 0.85)))(assert (= Y_1 (- 0.6875)))",
      at.options, &result));
  if (bf_aot_result_verdict(result) != BF_AOT_UNKNOWN || !bf_aot_result_stopped(result) ||
      at.told == 0 || bf_aot_result_no_proof(result) != NULL)
    exit(1);
  bf_aot_result_free(result);
  refused(bf_aot_verifier_bounds(verifier, x, x, 1, low, high), "BF3506");
  bf_aot_verifier_free(verifier);
  bf_aot_options_free(at.options);
  bf_aot_stop(NULL);

  check(bf_aot_options_make(&at.options));
  check(bf_aot_options_set(at.options, "proof", path(folder, "answer.bfc")));
  check(bf_aot_verify(model, path(models, "properties/tiny_holds.vnnlib"), at.options, &result));
  if (bf_aot_result_stopped(result) || strcmp(bf_aot_result_no_proof(result), "") != 0) exit(1);
  bf_aot_result_free(result);
  file = fopen(path(folder, "answer.bfc"), "rb");
  if (file == NULL) exit(1);
  fclose(file);
  check(bf_aot_options_set(at.options, "proof", "-"));
  check(bf_aot_verify(model, path(models, "properties/tiny_holds.vnnlib"), at.options, &result));
  if (bf_aot_result_proof(result, &bytes) == NULL || bytes < 80 ||
      memcmp(bf_aot_result_proof(result, NULL), "BFC2", 4) != 0)
    exit(1);
  bf_aot_result_free(result);
  check(bf_aot_options_set(at.options, "proof", path(folder, "late.bfc")));
  check(bf_aot_options_set(at.options, "proof_seconds", "1e-9"));
  check(bf_aot_verify(model, path(models, "properties/tiny_holds.vnnlib"), at.options, &result));
  printf("no certificate: %s\n", bf_aot_result_no_proof(result));
  if (bf_aot_result_proof(result, &bytes) != NULL || bytes != 0) exit(1);
  bf_aot_result_free(result);
  bf_aot_options_free(at.options);
  bf_aot_model_free(model);
}

static void certify(const char* models) {
  bf_aot_model* model = NULL;
  float points[2 * 2] = {0.5F, 0.5F, 0.25F, -0.5F}, lower[4], upper[4], margins[2];
  size_t labels[2] = {1, 1}, i;
  int robustness[2] = {-1, -1};
  check(bf_aot_model_load(path(models, "tiny.onnx"), &model));
  for (i = 0; i < 4; ++i) {
    lower[i] = points[i] - 0.001F;
    upper[i] = points[i] + 0.001F;
  }
  check(bf_aot_certify(model, NULL, points, lower, upper, labels, 2, robustness, margins));
  printf("robustness %d, %d, margins %.9g, %.9g\n", robustness[0], robustness[1],
         (double)margins[0], (double)margins[1]);
  bf_aot_model_free(model);
}

static void compile(const char* models, const char* folder) {
  bf_aot_model* model = NULL;
  bf_aot_options* options = NULL;
  FILE* file;
  check(bf_aot_model_load(path(models, "tiny.onnx"), &model));
  check(bf_aot_options_make(&options));
  check(bf_aot_options_set(options, "target", "cortex-m4"));
  check(bf_aot_options_set(options, "method", "ibp"));
  check(bf_aot_options_set(options, "name", "avoid"));
  check(bf_aot_options_set(options, "single_file", "true"));
  check(bf_aot_compile(model, path(folder, "avoid.cpp"), options));
  file = fopen(path(folder, "avoid.cpp"), "r");
  if (file == NULL) exit(1);
  fclose(file);
  refused(bf_aot_compile(model, path(folder, "avoid.txt"), options), "BF3501");
  bf_aot_options_free(options);
  bf_aot_model_free(model);
}

/* What is asked of NULL is empty, and no product of sizes wraps. */
static void nothing(const char* models) {
  const size_t huge = ((size_t)-1) / 64 + 1;
  bf_aot_model* model = NULL;
  bf_aot_verifier* verifier = NULL;
  double x[SIDE] = {0};
  float f[SIDE] = {0};
  size_t label = 0;
  int found = 0;
  if (bf_aot_error_code(NULL)[0] != 0 || bf_aot_error_place(NULL)[0] != 0 ||
      bf_aot_error_message(NULL)[0] != 0 || bf_aot_error_hint(NULL)[0] != 0 ||
      bf_aot_error_text(NULL)[0] != 0 || bf_aot_model_sha256(NULL)[0] != 0 ||
      bf_aot_model_elements(NULL, BF_AOT_INPUTS) != 0 ||
      bf_aot_model_tensors(NULL, BF_AOT_OUTPUTS) != 0 ||
      bf_aot_model_tensor_name(NULL, BF_AOT_INPUTS, 0) != NULL ||
      bf_aot_model_tensor_shape(NULL, BF_AOT_INPUTS, 0, NULL, 4) != 0 ||
      bf_aot_result_verdict(NULL) != BF_AOT_UNKNOWN || bf_aot_result_seconds(NULL) != 0 ||
      bf_aot_result_input(NULL) != NULL || bf_aot_result_output(NULL) != NULL ||
      bf_aot_result_exact(NULL, 0) != NULL || bf_aot_result_stopped(NULL) != 0 ||
      bf_aot_result_no_proof(NULL) != NULL || bf_aot_result_proof(NULL, NULL) != NULL)
    exit(1);
  bf_aot_error_free(NULL);
  check(bf_aot_model_load(path(models, "digits_64x2.onnx"), &model));
  if (bf_aot_model_tensor_shape(model, BF_AOT_INPUTS, 0, NULL, 4) == 0) exit(1);
  refused(bf_aot_verifier_make(model, NULL, x, NULL, (size_t)-1, &verifier), "BF3503");
  check(bf_aot_verifier_make(model, NULL, NULL, NULL, 0, &verifier));
  refused(bf_aot_verifier_bounds(verifier, x, x, huge, f, f), "BF3503");
  refused(bf_aot_verifier_row_bounds(verifier, x, x, huge, f, f), "BF3503");
  refused(bf_aot_certify(model, NULL, f, f, f, &label, huge, &found, NULL), "BF3503");
  bf_aot_verifier_free(verifier);
  bf_aot_model_free(model);
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  if (bf_aot_abi() != BF_AOT_ABI || strcmp(bf_aot_version(), BF_AOT_VERSION) != 0) return 1;
  bound(argv[1]);
  decide(argv[1]);
  stop(argv[1], argv[2]);
  certify(argv[1]);
  compile(argv[1], argv[2]);
  nothing(argv[1]);
  if (argc == 4) bound_there(argv[1]);
  return 0;
}
