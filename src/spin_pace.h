/*-------------------------------------------------------------------------
 *
 * spin_pace.h
 *	  Learns how often a spinner should look at the locks of one tranche.
 *
 * Free of the server, so that it can be tested and simulated on the host.
 * See spin_pace.c for the method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_SPIN_PACE_H
#define LWTUNE_SPIN_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "local.h"

LWTUNE_BEGIN_LOCAL

/*
 * Pace 0 looks at once and then less and less often, each further one waits
 * four times as long before each look.
 */
#define SPIN_PACES 4

/* The most pairs of slices for one comparison. */
#define PACE_PAIRS 48

/* One trial: the pace in force against its neighbours. */
typedef struct PaceTrial
{
	int			pace;			/* the best so far */
	int			rival;			/* compared with it */
	bool		turned;			/* the other neighbour was compared already */
	bool		changed;		/* pace is not the one that it began with */
	bool		rival_first;	/* order in the pair */
	int			slices;			/* of the pair so far */
	double		rate[2];		/* of the pace, of the rival */
	int			npairs;
	int			nvoid;			/* pairs without enough work */
	double		gain[PACE_PAIRS];	/* log(rival / pace), ascending */
	uint32_t	dice;
} PaceTrial;

/* Begin to compare pace with its neighbours. */
extern void pace_trial_begin(PaceTrial *trial, int pace, uint32_t seed);

/* The pace that has to be in force in the slice that comes. */
extern int	pace_trial_now(const PaceTrial *trial);

/*
 * The slice is over; rate is work by time in any unit, 0 if there was too
 * little to tell.  False if the trial is over, and trial->pace the verdict.
 */
extern bool pace_trial_add(PaceTrial *trial, double rate);

/* Time between two looks, in nanoseconds; 0 is at once at first. */
extern int64_t spin_pace_ns(int pace);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_SPIN_PACE_H */
