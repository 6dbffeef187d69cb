/*-------------------------------------------------------------------------
 *
 * foreign_symbol.c
 *	  A library that defines what a server normally exports: for LD_PRELOAD.
 *
 *-------------------------------------------------------------------------
 */
int			update_spins_per_delay(int shared_spins_per_delay);

int
update_spins_per_delay(int shared_spins_per_delay)
{
	return shared_spins_per_delay;
}
