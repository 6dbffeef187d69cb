/*-------------------------------------------------------------------------
 *
 * calibrate.h
 *	  How long this machine's pause instruction takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_CALIBRATE_H
#define LWTUNE_CALIBRATE_H

#include "local.h"

LWTUNE_BEGIN_LOCAL

/* Nanoseconds for each pause, measured at the first call of a postmaster. */
extern double calibrate_pause_ns(void);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_CALIBRATE_H */
