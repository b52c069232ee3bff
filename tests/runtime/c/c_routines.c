/* The routines of runtime/bf/c as functions that C++ tests link: compiled as C99 with the warnings
 * that generated verifiers are compiled with. */

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bf.h"
#include "bf/c/words/c99.h"

#undef BF_INLINE
#define BF_INLINE
#define static
#define inline

#include "bf/c/backward.h"
#include "bf/c/ball_layers.h"
#include "bf/c/balls.h"
#include "bf/c/bounds.h"
#include "bf/c/checks.h"
#include "bf/c/choices/mixed_planes.h"
#include "bf/c/choices/mixtures.h"
#include "bf/c/choices/slopes.h"
#include "bf/c/contraction.h"
#include "bf/c/conv.h"
#include "bf/c/conv_backward.h"
#include "bf/c/core.h"
#include "bf/c/float_functions.h"
#include "bf/c/function_lines.h"
#include "bf/c/function_steps.h"
#include "bf/c/function_table.h"
#include "bf/c/functions.h"
#include "bf/c/intervals.h"
#include "bf/c/log_softmax.h"
#include "bf/c/planes.h"
#include "bf/c/relax.h"
#include "bf/c/row_windows.h"
#include "bf/c/spans.h"
#include "bf/c/terms.h"
#include "bf/c/verdict.h"
