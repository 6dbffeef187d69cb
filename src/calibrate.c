/*-------------------------------------------------------------------------
 *
 * calibrate.c
 *	  How long this machine's pause instruction takes.
 *
 * A pause costs from about 10 to about 140 cycles by microarchitecture, so
 * limits on spinning are set and learned in time, and turned into pauses with
 * what is measured here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "calibrate.h"
#include "portability/instr_time.h"
#include "spin_wait.h"

#define ROUNDS 16
#define PAUSES_PER_ROUND 512

double
calibrate_pause_ns(void)
{
	static double pause_ns = 0.0;

	if (pause_ns > 0.0)
		return pause_ns;

	/* the fastest round is the one that nothing interrupted */
	for (int round = 0; round < ROUNDS; round++)
	{
		instr_time	start;
		instr_time	elapsed;
		double		ns;

		INSTR_TIME_SET_CURRENT(start);
		spin_pause(PAUSES_PER_ROUND);
		INSTR_TIME_SET_CURRENT(elapsed);
		INSTR_TIME_SUBTRACT(elapsed, start);
		ns = INSTR_TIME_GET_DOUBLE(elapsed) * 1e9 / PAUSES_PER_ROUND;
		if (ns > 0.0 && (pause_ns == 0.0 || ns < pause_ns))
			pause_ns = ns;
	}

	/* a clock too coarse to tell: assume a processor with a short pause */
	if (pause_ns == 0.0)
		pause_ns = 10.0;
	return pause_ns;
}
