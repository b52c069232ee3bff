#ifndef BF_AOT_C_BF_AOT_H
#define BF_AOT_C_BF_AOT_H

#include <stddef.h>

/** \file
 * The C interface of libbf_aot.so: sound bounds of ONNX networks, verdicts of properties, and
 * verifiers in C++. Plain C90. It keeps to what the C++ interface, bf_aot/bf_aot.h, guarantees.
 *
 * Objects are opaque handles. Who gets one frees it, by the function of its kind; NULL may be
 * freed. An object does not change once it is made, but for options; calls may be made from several
 * threads at once, on the same objects as well. Texts that a call returns live as long as the
 * object that it was asked of; they are UTF-8.
 *
 * A call that can fail returns NULL, or an error, which the caller frees. Results are written where
 * there is no error alone. NULL in place of an object or an array that is needed is an error, and
 * so are sizes whose product is more than memory holds. What is asked of NULL is empty: "" of an
 * error and of a digest, 0, BF_AOT_UNKNOWN, or NULL. */

/** The version of this header. The library's own is bf_aot_version(). BF_AOT_VERSION_NUMBER is
 * 10000 times the first part, 100 times the second, and the third. */
#define BF_AOT_VERSION "0.2.0"
#define BF_AOT_VERSION_NUMBER 200

/** The version of the binary interface, and of the soname. A program that was compiled with one
 * runs with each later library of the same: functions are added, none is changed or removed. */
#define BF_AOT_ABI 1

#if defined(__GNUC__)
#define BF_AOT_API __attribute__((visibility("default")))
#else
#define BF_AOT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** BF_AOT_ABI and BF_AOT_VERSION of the library, and the state of its sources as "git describe"
 * says it; "" where that is unknown. */
BF_AOT_API int bf_aot_abi(void);
BF_AOT_API const char* bf_aot_version(void);
BF_AOT_API const char* bf_aot_sources(void);

/** An error: its stable code ("BF1003", docs/reference/diagnostics.md), its place, message and
 * hint, which may be empty, and all of it as the program bf-aot prints it. */
typedef struct bf_aot_error bf_aot_error;
BF_AOT_API const char* bf_aot_error_code(const bf_aot_error* error);
BF_AOT_API const char* bf_aot_error_place(const bf_aot_error* error);
BF_AOT_API const char* bf_aot_error_message(const bf_aot_error* error);
BF_AOT_API const char* bf_aot_error_hint(const bf_aot_error* error);
BF_AOT_API const char* bf_aot_error_text(const bf_aot_error* error);
BF_AOT_API void bf_aot_error_free(bf_aot_error* error);

/** Options by name, as texts: those of docs/reference/options.md ("method", "semantics", "norm",
 * "row_tile", ...) and those that docs/reference/c-library.md lists for each call ("timeout",
 * "jobs", "target", ...). A name is refused when it is set; a value when a call uses it. */
typedef struct bf_aot_options bf_aot_options;
BF_AOT_API bf_aot_error* bf_aot_options_make(bf_aot_options** options);
BF_AOT_API bf_aot_error* bf_aot_options_set(bf_aot_options* options, const char* name,
                                            const char* value);
BF_AOT_API void bf_aot_options_free(bf_aot_options* options);

/** Ends the calls with these options, of whatever thread: those that run, soon, and those that are
 * made later, at once. Bounds of a verifier that was made with them end with error BF3506; a
 * decision with BF_AOT_UNKNOWN (bf_aot_result_stopped), without its certificate if that is at work;
 * of bf_aot_certify, samples that are open stay BF_AOT_UNDECIDED. To plan and to compile go on.
 *
 * Any thread may call it, several at once as well, also within a progress function, as long as the
 * options are not freed meanwhile. A signal handler must not. A call copies what options say when
 * it begins: they may be freed while it runs, but not changed by one thread while another begins a
 * call. */
BF_AOT_API void bf_aot_stop(bf_aot_options* options);

/** A decision bounds the property's cases, searches for a counterexample, or splits what is open.
 */
typedef enum bf_aot_phase { BF_AOT_BOUND = 0, BF_AOT_SEARCH = 1, BF_AOT_SPLIT = 2 } bf_aot_phase;

/** How far a decision is. Later versions may add members at the end. */
typedef struct bf_aot_progress {
  bf_aot_phase phase;
  size_t cases_done, cases; /* while it bounds or searches */
  size_t boxes;             /* while it splits: boxes, or nodes of splits of neurons */
  double proven;            /* while it splits: the proven part of all cases, 0 to 1 */
} bf_aot_progress;

/** Lets decisions with these options call a function now and then, on the thread that made the
 * call, which waits for it; NULL: none. `progress` lives during the call alone; `context` is handed
 * on as it is, and has to live as long as the decision. */
typedef void (*bf_aot_progress_function)(const bf_aot_progress* progress, void* context);
BF_AOT_API bf_aot_error* bf_aot_options_progress(bf_aot_options* options,
                                                 bf_aot_progress_function function, void* context);

/** A network as it was read. */
typedef struct bf_aot_model bf_aot_model;

/** Reads an ONNX or .nnet file, plain or compressed by gzip. Errors: BF10xx. */
BF_AOT_API bf_aot_error* bf_aot_model_load(const char* path, bf_aot_model** model);

/** Reads a model from memory; `name` stands in messages. */
BF_AOT_API bf_aot_error* bf_aot_model_read(const void* bytes, size_t size, const char* name,
                                           bf_aot_model** model);
BF_AOT_API void bf_aot_model_free(bf_aot_model* model);

/** The tensors of a side. Boxes and bounds hold the elements of all of them, one tensor after the
 * other, row-major. */
typedef enum bf_aot_side { BF_AOT_INPUTS = 0, BF_AOT_OUTPUTS = 1 } bf_aot_side;

/** The number of elements of a side, and of its tensors. */
BF_AOT_API size_t bf_aot_model_elements(const bf_aot_model* model, bf_aot_side side);
BF_AOT_API size_t bf_aot_model_tensors(const bf_aot_model* model, bf_aot_side side);

/** The name of a tensor; NULL where there is no such one. */
BF_AOT_API const char* bf_aot_model_tensor_name(const bf_aot_model* model, bf_aot_side side,
                                                size_t tensor);

/** The rank of a tensor, of whose extents the first `room` are written to `extents`. 0 where there
 * is no such tensor. */
BF_AOT_API size_t bf_aot_model_tensor_shape(const bf_aot_model* model, bf_aot_side side,
                                            size_t tensor, size_t* extents, size_t room);

/** SHA-256 of the bytes that were read, as 64 hexadecimal digits. */
BF_AOT_API const char* bf_aot_model_sha256(const bf_aot_model* model);

/** Bounds of one network by one method. */
typedef struct bf_aot_verifier bf_aot_verifier;

/** Plans the work. `options` may be NULL. Besides the outputs y it bounds `count` rows C y - d: C
 * is [count, outputs], row-major; d is [count], or NULL for zeros. */
BF_AOT_API bf_aot_error* bf_aot_verifier_make(const bf_aot_model* model,
                                              const bf_aot_options* options, const double* rows,
                                              const double* offsets, size_t count,
                                              bf_aot_verifier** verifier);
BF_AOT_API void bf_aot_verifier_free(bf_aot_verifier* verifier);

/** Bounds of the outputs, [boxes, outputs], on boxes { x : lower <= x <= upper }, [boxes, inputs].
 * They hold for every real point of each box, all rounding included; where no finite float32
 * bounds an output, its bound is infinite. */
BF_AOT_API bf_aot_error* bf_aot_verifier_bounds(const bf_aot_verifier* verifier,
                                                const double* lower, const double* upper,
                                                size_t boxes, float* out_lower, float* out_upper);

/** Bounds of the rows, [boxes, count]. */
BF_AOT_API bf_aot_error* bf_aot_verifier_row_bounds(const bf_aot_verifier* verifier,
                                                    const double* lower, const double* upper,
                                                    size_t boxes, float* out_lower,
                                                    float* out_upper);

/** Bounds of the outputs, and of the rows, on boxes of float32 in the memory of a device of CUDA,
 * of a verifier whose option "device" is "cuda": pointers of its primary context, which are not
 * copied. stream: a cudaStream_t that orders the call, NULL the default one. Bounds are this
 * process's. */
BF_AOT_API bf_aot_error* bf_aot_verifier_bounds_there(const bf_aot_verifier* verifier,
                                                      const float* lower, const float* upper,
                                                      size_t boxes, void* stream, float* out_lower,
                                                      float* out_upper);
BF_AOT_API bf_aot_error* bf_aot_verifier_row_bounds_there(const bf_aot_verifier* verifier,
                                                          const float* lower, const float* upper,
                                                          size_t boxes, void* stream,
                                                          float* out_lower, float* out_upper);

/** A verdict on a property, which states what must not happen. BF_AOT_VERIFIED: no input violates
 * it. BF_AOT_FALSIFIED: an input does. Both are proven. */
typedef enum bf_aot_verdict {
  BF_AOT_VERIFIED = 0,
  BF_AOT_FALSIFIED = 1,
  BF_AOT_UNKNOWN = 2
} bf_aot_verdict;

typedef struct bf_aot_result bf_aot_result;

/** Decides a property in VNN-LIB: of a file, or as text. `options` may be NULL. */
BF_AOT_API bf_aot_error* bf_aot_verify(const bf_aot_model* model, const char* property,
                                       const bf_aot_options* options, bf_aot_result** result);
BF_AOT_API bf_aot_error* bf_aot_verify_text(const bf_aot_model* model, const char* text,
                                            const bf_aot_options* options, bf_aot_result** result);

/** Decides a query of VNN-LIB 2.0 about one network or several: models[i] is that of the network
 * which the query declares as names[i], i < count. The input of a counterexample holds the inputs
 * of all networks in the query's order, one after the other, and so does the output. */
BF_AOT_API bf_aot_error* bf_aot_verify_networks(const char* const* names,
                                                const bf_aot_model* const* models, size_t count,
                                                const char* query, const bf_aot_options* options,
                                                bf_aot_result** result);
BF_AOT_API void bf_aot_result_free(bf_aot_result* result);

BF_AOT_API bf_aot_verdict bf_aot_result_verdict(const bf_aot_result* result);
BF_AOT_API double bf_aot_result_seconds(const bf_aot_result* result);

/** 1 where the verdict is unknown because of bf_aot_stop() or the timeout; else 0. */
BF_AOT_API int bf_aot_result_stopped(const bf_aot_result* result);

/** "" where the certificate that option "proof" asks for was made; else why it was not; NULL
 * where none was asked for, or the verdict is BF_AOT_UNKNOWN. */
BF_AOT_API const char* bf_aot_result_no_proof(const bf_aot_result* result);

/** The certificate itself, where option "proof" is "-"; else NULL. Writes its size to `bytes`. */
BF_AOT_API const void* bf_aot_result_proof(const bf_aot_result* result, size_t* bytes);

/** The input that violates the property, [inputs], and its outputs, rounded; NULL where the verdict
 * is another. bf_aot_result_exact gives element `input` exactly: "0.25", "2.5e-12" or "1/3". */
BF_AOT_API const double* bf_aot_result_input(const bf_aot_result* result);
BF_AOT_API const double* bf_aot_result_output(const bf_aot_result* result);
BF_AOT_API const char* bf_aot_result_exact(const bf_aot_result* result, size_t input);

/** A verdict on a classifier's answer in a box about a sample: everywhere it is the label;
 * somewhere it is not; neither is proven; it is not at the sample itself. */
typedef enum bf_aot_robustness {
  BF_AOT_CERTIFIED = 0,
  BF_AOT_REFUTED = 1,
  BF_AOT_UNDECIDED = 2,
  BF_AOT_WRONG = 3
} bf_aot_robustness;

/** Classifies samples, [samples, inputs], each in its box, lower and upper, of the same shape.
 * `labels` are classes from 0. Writes [samples] values of bf_aot_robustness to `robustness`, and to
 * `margins`, where it is not NULL, lower bounds of output[label] - output[any other] in the box. */
BF_AOT_API bf_aot_error* bf_aot_certify(const bf_aot_model* model, const bf_aot_options* options,
                                        const float* points, const float* lower, const float* upper,
                                        const size_t* labels, size_t samples, int* robustness,
                                        float* margins);

/** Writes a verifier to `source`, in C++ where its name ends in ".cpp", in C99 where it ends in
 * ".c", and the files beside it. */
BF_AOT_API bf_aot_error* bf_aot_compile(const bf_aot_model* model, const char* source,
                                        const bf_aot_options* options);

#ifdef __cplusplus
}
#endif

#endif
