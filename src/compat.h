/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The only home of PG_VERSION_NUM.
 *
 * What differs between majors sits in files of their own (targets_pgNN.h,
 * lock_pgNN.c); this file says which of them belong to the server whose
 * headers are used, and refuses the ones that nobody has checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_COMPAT_H
#define LWTUNE_COMPAT_H

#if PG_VERSION_NUM >= 150000 && PG_VERSION_NUM < 160000
#define LWTUNE_TARGETS_HEADER "targets_pg15.h"
#else
#error "lwtune has not been checked against this major version of PostgreSQL"
#endif

/* A child that does not inherit the postmaster's memory has stock text. */
#ifdef EXEC_BACKEND
#error "lwtune needs children that are forked, not executed"
#endif

#define LWTUNE_BUILT_FOR_MAJOR (PG_VERSION_NUM / 10000)

#endif							/* LWTUNE_COMPAT_H */
