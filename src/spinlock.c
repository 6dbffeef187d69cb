/*-------------------------------------------------------------------------
 *
 * spinlock.c
 *	  Waiting for a contended spinlock, and for whatever else spins.
 *
 * The replacements of s_lock.c.  The delay is the server's: spin, then sleep
 * 1 ms and randomly longer each time, up to 1 s; how long to spin is one
 * number per process, which rises fast when spinning was enough and falls
 * slowly when it was not, and is averaged over processes through the two
 * functions at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "lock.h"
#include "miscadmin.h"

#define MIN_SPINS 10
#define MAX_SPINS 1000
#define MAX_DELAYS 1000			/* then it is stuck */
#define MIN_DELAY_US 1000
#define MAX_DELAY_US 1000000

static int	spins_per_delay = DEFAULT_SPINS_PER_DELAY;

static void
stuck(const SpinDelayStatus *status)
{
	elog(PANIC, "stuck spinlock detected at %s, %s:%d",
		 status->func ? status->func : "(unknown)", status->file, status->line);
}

/*
 * Returns the number of times that it slept.
 */
int
lwtune_s_lock(volatile slock_t *lock, const char *file, int line, const char *func)
{
	SpinDelayStatus status;

	init_spin_delay(&status, file, line, func);
	while (TAS_SPIN(lock))
		lwtune_perform_spin_delay(&status);
	lwtune_finish_spin_delay(&status);
	return status.delays;
}

void
lwtune_perform_spin_delay(SpinDelayStatus *status)
{
	SPIN_DELAY();

	if (++status->spins < spins_per_delay)
		return;

	if (++status->delays > MAX_DELAYS)
		stuck(status);
	if (status->cur_delay == 0)
		status->cur_delay = MIN_DELAY_US;
	pg_usleep(status->cur_delay);

	/* longer by a random fraction each time, and over again at the limit */
	status->cur_delay += (int) (status->cur_delay * pg_prng_double(&pg_global_prng_state) + 0.5);
	if (status->cur_delay > MAX_DELAY_US)
		status->cur_delay = MIN_DELAY_US;
	status->spins = 0;
}

void
lwtune_finish_spin_delay(SpinDelayStatus *status)
{
	if (status->cur_delay == 0)
		spins_per_delay = Min(spins_per_delay + 100, MAX_SPINS);
	else
		spins_per_delay = Max(spins_per_delay - 1, MIN_SPINS);
}

/* Called with a spinlock held, like the next. */
void
lwtune_set_spins_per_delay(int shared_spins_per_delay)
{
	spins_per_delay = shared_spins_per_delay;
}

int
lwtune_update_spins_per_delay(int shared_spins_per_delay)
{
	return (shared_spins_per_delay * 15 + spins_per_delay) / 16;
}

int
lwtune_spins_per_delay(void)
{
	return spins_per_delay;
}
