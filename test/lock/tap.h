/*-------------------------------------------------------------------------
 *
 * tap.h
 *	  What a host test needs to report in TAP.
 *
 * Include it after any header of the server's: those turn printf() and its
 * family into the server's own, and a test wants the C library's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TAP_H
#define TAP_H

#undef printf
#undef fprintf
#undef snprintf
#undef vsnprintf
#undef vprintf

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	tap_count;
static int	tap_failures;

__attribute__((format(printf, 2, 3)))
static bool
ok(bool passed, const char *fmt,...)
{
	va_list		args;

	printf("%s %d - ", passed ? "ok" : "not ok", ++tap_count);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	tap_failures += !passed;
	return passed;
}

/* The plan comes last; returns the program's exit status. */
static int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures > 0;
}

#endif							/* TAP_H */
