/*-------------------------------------------------------------------------
 *
 * stat_views.c
 *	  SQL functions behind the views, and the reset.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "guc.h"
#include "patch.h"
#include "stat.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(lwtune_status_1_0);
PG_FUNCTION_INFO_V1(lwtune_settings_1_0);
PG_FUNCTION_INFO_V1(lwtune_stats_1_0);
PG_FUNCTION_INFO_V1(lwtune_reset_1_0);

/*
 * Every function of lwtune is useless, and says so, in a server that does not
 * preload it.
 */
static void
check_preloaded(void)
{
	if (guc_spin_time.text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("lwtune must be loaded via shared_preload_libraries"),
				 errhint("Add lwtune to shared_preload_libraries and restart the server.")));
}

static bool
in_force(void)
{
	return lwtune_shared != NULL;
}

static const char *
state_name(PatchState state)
{
	switch (state)
	{
		case PATCH_STOCK:
			return "stock";
		case PATCH_REDIRECTED:
			return "redirected";
		case PATCH_REFUSED:
			return "refused";
	}
	return NULL;
}

/*
 * One row for each function of the server: function, state, reason, calls.
 * The reason stands on the row that failed the check, or on all rows if it
 * concerns them all.
 */
Datum
lwtune_status_1_0(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		one_failed = false;

	check_preloaded();
	InitMaterializedSRF(fcinfo, 0);

	for (int i = 0; i < patch_ntargets; i++)
		one_failed |= patch_targets[i].reason != NULL;
	for (int i = 0; i < patch_ntargets; i++)
	{
		const PatchTarget *target = &patch_targets[i];
		const char *reason = one_failed ? target->reason : patch_report.reason;
		Datum		values[4];
		bool		nulls[4] = {false};

		values[0] = CStringGetTextDatum(target->name);
		values[1] = CStringGetTextDatum(state_name(patch_report.state));
		nulls[2] = reason == NULL;
		if (reason != NULL)
			values[2] = CStringGetTextDatum(reason);
		nulls[3] = patch_report.state != PATCH_REDIRECTED;
		values[3] = Int64GetDatum(target->calls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * A row of lwtune_settings: tranche, setting, value, source, learned, matched.
 */
static void
put_setting(ReturnSetInfo *result, const char *tranche, const GucList *setting,
			int64 value, const char *source, const char *learned, bool matched)
{
	char		text[POLICY_VALUE_SIZE];
	Datum		values[6];
	bool		nulls[6] = {false};

	policy_format_value(setting->kind, value, text, sizeof(text));
	values[0] = CStringGetTextDatum(tranche);
	values[1] = CStringGetTextDatum(setting->name);
	values[2] = CStringGetTextDatum(text);
	values[3] = CStringGetTextDatum(source);
	nulls[4] = learned == NULL;
	if (learned != NULL)
		values[4] = CStringGetTextDatum(learned);
	values[5] = BoolGetDatum(matched);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static const char *
source_name(uint8 source)
{
	return source == POLICY_FROM_TRANCHE ? "tranche" : "default";
}

/*
 * What auto uses now: "3.2us", or "25.6us, a look every 8us".
 */
#define LEARNED_SIZE (2 * POLICY_VALUE_SIZE + 16)

static void
format_learned(const PolicyTranche *policy, char *text, size_t size)
{
	char		look[POLICY_VALUE_SIZE];

	policy_format_value(POLICY_KIND_SPIN_TIME, policy->learned, text, POLICY_VALUE_SIZE);
	if (policy->learned == 0 || policy->learned_look == 0)
		return;
	policy_format_value(POLICY_KIND_SPIN_TIME, policy->learned_look, look, sizeof(look));
	snprintf(text + strlen(text), size - strlen(text), ", a look every %s", look);
}

static void
put_matched_settings(ReturnSetInfo *result)
{
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		PolicyTranche policy = lwtune_shared->tranche_policy[slot];
		char		name[NAMEDATALEN];
		char		learned[LEARNED_SIZE];

		if (!tranche_name(slot, name))
			continue;
		format_learned(&policy, learned, sizeof(learned));
		put_setting(result, name, &guc_spin_time, policy.spin_time,
					source_name(policy.spin_time_source),
					policy.spin_time == POLICY_SPIN_AUTO ? learned : NULL, true);
		put_setting(result, name, &guc_max_spinners, policy.max_spinners_setting,
					source_name(policy.max_spinners_source), NULL, true);
	}
}

/*
 * Values that wait for a tranche of that name.
 */
static void
put_unmatched_settings(ReturnSetInfo *result, const GucList *setting)
{
	if (setting->list == NULL)
		return;
	for (int i = 0; i < setting->list->nelements; i++)
	{
		const PolicyElement *element = &setting->list->elements[i];

		if (!tranche_exists(element->name))
			put_setting(result, element->name, setting, element->value, "tranche", NULL, false);
	}
}

Datum
lwtune_settings_1_0(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	check_preloaded();
	InitMaterializedSRF(fcinfo, 0);
	if (in_force())
	{
		put_matched_settings(result);
		put_unmatched_settings(result, &guc_spin_time);
		put_unmatched_settings(result, &guc_max_spinners);
	}
	return (Datum) 0;
}

static bool
anything_counted(const StatSums *sums)
{
	for (int counter = 0; counter < STAT_NCOUNTERS; counter++)
	{
		if (sums->count[counter] != 0)
			return true;
	}
	return false;
}

/*
 * A row for each tranche that has a name, in any process, or was used: its name, a column
 * for each counter in the order of stat_counters_list.h, max_wait_time,
 * stats_reset.  Times are in milliseconds.
 */
#define STATS_COLUMNS (1 + STAT_NCOUNTERS + 2)

Datum
lwtune_stats_1_0(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	check_preloaded();
	InitMaterializedSRF(fcinfo, 0);
	for (int slot = 0; in_force() && slot < TRANCHE_SLOTS; slot++)
	{
		StatSums	sums;
		char		name[NAMEDATALEN];
		Datum		values[STATS_COLUMNS];
		bool		nulls[STATS_COLUMNS] = {false};
		int			column = 0;

		stat_sum(slot, &sums);
		if (!tranche_name(slot, name))
		{
			if (!anything_counted(&sums))
				continue;
			snprintf(name, sizeof(name), "extension %d", slot);
		}
		else if (slot == TRANCHE_OTHERS && !anything_counted(&sums))
			continue;

		values[column++] = CStringGetTextDatum(name);
		for (int counter = 0; counter < STAT_NCOUNTERS; counter++)
		{
			if (counter == STAT_wait_time)
				values[column++] = Float8GetDatum(sums.count[counter] / 1e6);
			else
				values[column++] = Int64GetDatum((int64) sums.count[counter]);
		}
		values[column++] = Float8GetDatum(sums.max_wait_time / 1e6);
		values[column++] = TimestampTzGetDatum(sums.reset_time);
		Assert(column == STATS_COLUMNS);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * lwtune_reset(tranche text): start counting anew, for all if it is null.
 */
Datum
lwtune_reset_1_0(PG_FUNCTION_ARGS)
{
	char	   *tranche = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool		found = false;

	check_preloaded();
	for (int slot = 0; in_force() && slot < TRANCHE_SLOTS; slot++)
	{
		char		name[NAMEDATALEN];

		if (tranche == NULL ||
			(tranche_name(slot, name) && policy_names_equal(name, tranche)))
		{
			stat_reset(slot);
			found = true;
		}
	}
	if (tranche != NULL && in_force() && !found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no tranche named \"%s\"", tranche),
				 errhint("Tranche names are those of pg_stat_activity.wait_event; lwtune_stats lists them.")));
	PG_RETURN_VOID();
}
