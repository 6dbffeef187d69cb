/*-------------------------------------------------------------------------
 *
 * policy.h
 *	  Settings as the lock functions read them: plain words, by tranche.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_POLICY_H
#define LWTUNE_POLICY_H

#include "local.h"
#include "spin_policy.h"

LWTUNE_BEGIN_LOCAL

typedef enum TrackLevel
{
	TRACK_NONE,
	TRACK_COUNTS,
	TRACK_TIMING
} TrackLevel;

/* For all tranches. */
typedef struct PolicyGlobal
{
	uint32		track;			/* TrackLevel */
	uint32		bucket_pauses;	/* pauses in the shortest bucket of the learner */
	double		pause_ns;		/* what one pause takes on this machine */
} PolicyGlobal;

typedef enum PolicySource
{
	POLICY_FROM_DEFAULT,
	POLICY_FROM_TRANCHE
} PolicySource;

/*
 * For one tranche.  A lock function that has to wait reads it with plain
 * loads; every word is valid with every other, so it does not matter which of
 * them a reader sees first when they change.
 */
typedef struct PolicyTranche
{
	uint32		spin_pauses;	/* spin so many pauses before queueing */
	uint32		look_pauses;	/* look at the lock after so many each; 0 is at
								 * once at first, then less and less often */
	uint32		explore_pauses; /* but so many now and then ... */
	uint32		explore_every;	/* ... once in so many waits; 0 is never */
	uint32		max_spinners;	/* on one lock at once */

	/* for lwtune_settings */
	int64		spin_time;		/* ns, or POLICY_SPIN_AUTO */
	int64		learned;		/* ns, what auto uses now */
	int64		learned_look;	/* ns between two looks, or 0 */
	int32		max_spinners_setting;
	uint8		spin_time_source;	/* PolicySource */
	uint8		max_spinners_source;
} PolicyTranche;

LWTUNE_END_LOCAL

#endif							/* LWTUNE_POLICY_H */
