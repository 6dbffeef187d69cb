# 10_promises
#	  What the server's lock functions promise, lwtune's keep: the same calls
#	  have the same results on a server with and one without it.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneBuild;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = build_library('lock_calls');
my $stock = new_node('stock', preload => '');
my $tuned = new_node('tuned');

foreach my $node ($stock, $tuned)
{
	$node->start;
	$node->safe_psql(
		'postgres', qq{
		CREATE EXTENSION lwtune_torture;
		CREATE FUNCTION lock_calls() RETURNS SETOF text LANGUAGE c AS '$calls';
		SELECT lwtune_torture_create('promises');});
}
$tuned->safe_psql('postgres', 'CREATE EXTENSION lwtune');
is_in_force($tuned, 'one server has lwtune in force');

#
# One process, one call after the other.
#
my @expected = split /\n/, $stock->safe_psql('postgres', 'SELECT lock_calls()');
my @got      = split /\n/, $tuned->safe_psql('postgres', 'SELECT lock_calls()');
cmp_ok(scalar(@expected), '>', 100, 'calls were made');
is_deeply(\@got, \@expected,
	'return values, states, interrupt hold-off, errors, delays and names are the same')
  or diag join("\n",
	map { "- $expected[$_]\n+ $got[$_]" }
	grep { ($expected[$_] // '') ne ($got[$_] // '') } 0 .. $#expected);

# The lock functions learned while a spin time is set must not differ either.
set_live($tuned, spin_time => 'auto');
ok( wait_for(
		$tuned,
		q{count(*) > 60 FROM lwtune_settings WHERE setting = 'spin_time' AND value = 'auto'}),
	'spin_time is auto');
@got = split /\n/, $tuned->safe_psql('postgres', 'SELECT lock_calls()');
is_deeply(\@got, \@expected, 'the same with spin_time = auto');

#
# Several processes that wait for one lock.  Returns the order in which they
# got it, and what pg_stat_activity said of them meanwhile.
#
sub order_of
{
	my ($node, @modes) = @_;
	my (@waiters, @events);
	my $holder = start_query($node, "SELECT lwtune_torture_hold('promises', 'exclusive', 600000)");

	wait_for($node,
		q{count(*) = 1 FROM pg_stat_activity WHERE query ~ 'torture_hold.*600000' AND pid <> pg_backend_pid() AND state = 'active'}
	) or die 'nobody holds the lock';
	# until it has it
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.3)');

	foreach my $i (0 .. $#modes)
	{
		my $sleeping = $i + 1;
		push @waiters,
		  start_query($node,
			"SELECT lwtune_torture_hold('promises', '$modes[$i]', 100), extract(epoch FROM clock_timestamp()) -- waiter"
		  );
		wait_for($node,
			qq{count(*) = $sleeping FROM pg_stat_activity WHERE query ~ '-- waiter' AND wait_event_type = 'LWLock' AND pid <> pg_backend_pid()}
		) or die 'nobody waits';
	}
	my $events = $node->safe_psql(
		'postgres', q{
		SELECT string_agg(DISTINCT state || ' ' || wait_event_type, ', ') FROM pg_stat_activity
		 WHERE query ~ '-- waiter' AND pid <> pg_backend_pid()});
	$node->safe_psql(
		'postgres', q{
		SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		 WHERE query ~ 'torture_hold.*600000' AND pid <> pg_backend_pid()});
	finish_query($holder);
	my @when = map { (split /\|/, scalar finish_query($_))[1] } @waiters;
	# shared ones that are woken together finish in any order
	my @order = sort { $when[$a] <=> $when[$b] } 0 .. $#when;
	foreach my $i (0 .. $#order - 1)
	{
		@order[ $i, $i + 1 ] = @order[ $i + 1, $i ]
		  if $order[$i] > $order[ $i + 1 ]
		  && $modes[ $order[$i] ] eq 'shared'
		  && $modes[ $order[ $i + 1 ] ] eq 'shared';
	}
	return (join(' ', @order), $events);
}

my %of_stock;
foreach my $spin_time ('0', '20us')
{
	set_live($tuned, spin_time => $spin_time);
	ok( wait_for(
			$tuned,
			qq{count(*) = 1 FROM lwtune_settings WHERE tranche = 'promises' AND setting = 'spin_time' AND value = '$spin_time'}
		),
		"spin_time is $spin_time");
	foreach my $case (
		# first come, first served
		[ '0 1 2 3', qw(exclusive exclusive exclusive exclusive) ],
		# all shared ones with the first
		[ '0 3 1 2', qw(shared exclusive exclusive shared) ],
		[ '0 1 3 2', qw(exclusive shared exclusive shared) ])
	{
		my ($expected, @modes) = @$case;
		my ($stock_order, $stock_events) =
		  @{ $of_stock{"@modes"} //= [ order_of($stock, @modes) ] };
		my ($order, $events) = order_of($tuned, @modes);

		is($stock_order, $expected,     "order without lwtune: @modes");
		is($order,       $stock_order,  "order with lwtune: @modes");
		is($events,      $stock_events, 'wait events are the same');
	}
}

#
# The name of a tranche, in a process that has not registered it.
#
my $holder = start_query($tuned, q{SELECT lwtune_torture_hold('promises', 'exclusive', 600000)});
wait_for($tuned,
	q{count(*) = 1 FROM pg_stat_activity WHERE query ~ 'torture_hold.*600000' AND pid <> pg_backend_pid()}
);
$tuned->safe_psql('postgres', 'SELECT pg_sleep(0.3)');
my $waiter = start_query($tuned, q{SELECT lwtune_torture_hold('promises', 'shared', 0) -- waiter});
ok(wait_for($tuned, q{count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'promises'}),
	'pg_stat_activity names the tranche');

# A process that waits for a lock cannot be cancelled, only when it has it.
$tuned->safe_psql('postgres',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '-- waiter' AND pid <> pg_backend_pid()}
);
is( $tuned->safe_psql(
		'postgres',
		q{SELECT pg_sleep(0.3); SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'promises'}
	),
	"\n1",
	'a process that waits for a lock is not cancelled');
$tuned->safe_psql('postgres',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ 'torture_hold.*600000' AND pid <> pg_backend_pid()}
);
finish_query($holder);
my (undef, $err) = finish_query($waiter);
like($err, qr/canceling statement due to user request/, 'but when it has released it');
is($tuned->safe_psql('postgres', q{SELECT lwtune_torture_acquires('promises', 'exclusive', 1)}),
	'1', 'the lock is free');

$_->stop foreach ($stock, $tuned);
done_testing();
