/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  The settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_GUC_H
#define LWTUNE_GUC_H

#include "local.h"
#include "policy.h"
#include "policy_parse.h"

LWTUNE_BEGIN_LOCAL

/* What this process knows of a per-tranche setting. */
typedef struct GucList
{
	const char *name;			/* without the prefix */
	PolicyKind	kind;
	int64		initial;		/* for tranches that no element speaks of */
	char	   *text;
	PolicyList *list;
	char	   *logged;			/* the text whose names the worker has logged */
} GucList;

extern GucList guc_spin_time;
extern GucList guc_max_spinners;
extern bool guc_enable;
extern int	guc_track;

extern void guc_define(double pause_ns);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_GUC_H */
