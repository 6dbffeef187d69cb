/*-------------------------------------------------------------------------
 *
 * policy_shmem.c
 *	  Turns settings into what the lock functions read in shared memory.
 *
 * One process writes: the worker, or the postmaster before anybody else runs.
 * Readers take no lock and see each word change by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>
#include <unistd.h>

#include "guc.h"
#include "policy_shmem.h"
#include "shared.h"
#include "spin_pace.h"

static uint32
pauses_in(int64 ns)
{
	if (ns == 0)
		return 0;
	return (uint32) Max(1.0, ns / lwtune_shared->policy.pause_ns + 0.5);
}

/*
 * How many may spin where nobody says: spinning needs another processor, on
 * which the holder can run meanwhile.
 */
static uint32
default_spinners(void)
{
	cpu_set_t	ours;
	long		nprocessors;

	/* a server may be confined to some of the machine's */
	if (sched_getaffinity(0, sizeof(ours), &ours) == 0)
		nprocessors = CPU_COUNT(&ours);
	else
		nprocessors = sysconf(_SC_NPROCESSORS_ONLN);
	return nprocessors > 1 ? (uint32) (nprocessors - 1) : 0;
}

/*
 * The value of a per-tranche setting for a tranche, and where it is from.
 */
static int64
setting_for(const GucList *setting, const char *tranche, uint8 *source)
{
	const PolicyElement *element;

	*source = POLICY_FROM_DEFAULT;
	if (setting->list == NULL)
		return setting->initial;
	element = tranche ? policy_lookup(setting->list, tranche) : NULL;
	if (element != NULL)
	{
		*source = POLICY_FROM_TRANCHE;
		return element->value;
	}
	return setting->list->has_default ? setting->list->default_value : setting->initial;
}

void
policy_publish_learned(int slot, const SpinLearner *learner, int pace)
{
	PolicyTranche *policy = &lwtune_shared->tranche_policy[slot];
	int64		look = spin_pace_ns(pace);
	int64		limit = spin_limit_ns(learner->limit);

	/* time for two looks, or a slow pace would amount to not spinning */
	if (limit > 0)
		limit = Max(limit, 2 * look);
	policy->learned = limit;
	policy->learned_look = look;
	policy->spin_pauses = pauses_in(limit);
	policy->look_pauses = pauses_in(look);
	policy->explore_pauses = pauses_in(SPIN_LONGEST_NS);
	policy->explore_every = learner->explore_every;
}

static void
publish_tranche(int slot, uint32 spinners)
{
	PolicyTranche *policy = &lwtune_shared->tranche_policy[slot];
	char		name[NAMEDATALEN];
	bool		named = tranche_name(slot, name);
	int64		max_spinners;

	policy->spin_time = setting_for(&guc_spin_time, named ? name : NULL, &policy->spin_time_source);
	max_spinners = setting_for(&guc_max_spinners, named ? name : NULL, &policy->max_spinners_source);
	policy->max_spinners_setting = (int32) max_spinners;
	policy->max_spinners = max_spinners == POLICY_COUNT_PROCESSORS ? spinners : (uint32) max_spinners;

	if (policy->spin_time != POLICY_SPIN_AUTO)
	{
		policy->explore_every = 0;
		policy->learned = 0;
		policy->look_pauses = 0;
		policy->spin_pauses = pauses_in(policy->spin_time);
	}
}

void
policy_publish(void)
{
	uint32		spinners = default_spinners();

	lwtune_shared->policy.track = guc_track;
	lwtune_shared->policy.bucket_pauses = pauses_in(SPIN_BUCKET_NS);
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
		publish_tranche(slot, spinners);
}

void
policy_publish_initial(void)
{
	SpinLearner learner;

	spin_learner_init(&learner);
	policy_publish();
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		if (lwtune_shared->tranche_policy[slot].spin_time == POLICY_SPIN_AUTO)
			policy_publish_learned(slot, &learner, 0);
	}
}
