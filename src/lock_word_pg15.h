/*-------------------------------------------------------------------------
 *
 * lock_word_pg15.h
 *	  The state word of PostgreSQL 15, 16 and 17.
 *
 * Bits 0 to 23 count shared holders, bit 24 is the exclusive one, and above
 * are three flags.  Included before lock_core.h, behind the shim.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_LOCK_WORD_H
#define LWTUNE_LOCK_WORD_H

#define LC_HAS_WAITERS	((uint32_t) 1 << 30)	/* the wait list is not empty */
#define LC_RELEASE_OK	((uint32_t) 1 << 29)	/* a release may wake waiters */
#define LC_LIST_LOCKED	((uint32_t) 1 << 28)	/* the lock on the wait list */
#define LC_EXCLUSIVE	((uint32_t) 1 << 24)
#define LC_SHARED		((uint32_t) 1)
#define LC_HOLDERS		(((uint32_t) 1 << 25) - 1)	/* of either kind */

/* A release that leaves the word like this has to wake waiters. */
static inline bool
lc_release_wakes(uint32_t state)
{
	return (state & (LC_HAS_WAITERS | LC_RELEASE_OK | LC_HOLDERS)) == (LC_HAS_WAITERS | LC_RELEASE_OK);
}

/* The word after a wake-up, which permits another one or not. */
static inline uint32_t
lc_with_release_ok(uint32_t state, bool ok)
{
	return ok ? state | LC_RELEASE_OK : state & ~LC_RELEASE_OK;
}

/* Permit releases to wake waiters again.  Full barrier. */
static inline void
lc_allow_release(LC_LOCK *lock)
{
	lc_fetch_or(lock, LC_RELEASE_OK);
}

#endif							/* LWTUNE_LOCK_WORD_H */
