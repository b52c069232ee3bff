/* The example needs this of a board without an operating system. Yours to change and ship, without
 * attribution. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

/* Writes to the console, here the debugger's (Arm semihosting). */
void put_text(const char* text);

/* Writes a number in decimal, cut after nine digits. */
void put_number(float number);

/* Fills the free stack with a pattern; stack_used() then gives the bytes below the caller's stack
 * pointer that were written since. */
void paint_stack(void);
size_t stack_used(void);

#endif
