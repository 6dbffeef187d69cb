# Instructions.pm - measurement "instructions": of an uncontended acquire and
# release, and of pgbench's transactions, counted by valgrind in a single-user
# server.
#
# Two counts with different numbers of rounds are subtracted, so that starting
# the server drops out.  A count is exact, so one run has no interval to show;
# it is the same whatever else the machine does, but says nothing of waiting.

package Instructions;

use strict;
use warnings;

use Report;

# cell, its statements for a number of rounds, and two such numbers
my @loads = (
	{ cell => 'acquire + release, one client', input => \&pairs, few => 1_000, many => 101_000 },
	{ cell => '-S, one transaction', input => \&selects, few => 100, many => 1_100 },
	{ cell => 'default, one transaction', input => \&transfers, few => 50, many => 350 });

sub measure
{
	my ($bench) = @_;
	my %count;

	if (!grep { -x "$_/valgrind" } split /:/, $ENV{PATH})
	{
		return Report::absent('instructions', 'there is no valgrind here');
	}

	# a single-user server wants the data for itself
	for my $server ($bench->servers)
	{
		$server->settings if !$bench->{null} && $server == $bench->{lwtune};
		$server->stop;
		for my $load (@loads)
		{
			$bench->progress("instructions: $server->{name}, $load->{cell}, under valgrind");
			$count{ $load->{cell} }{ $server->{name} } = of_one_round($server, $load);
		}
		$bench->start_server($server);
	}
	return map { row($bench, $_->{cell}, $count{ $_->{cell} }) } @loads;
}

sub row
{
	my ($bench, $cell, $count) = @_;
	my ($stock, $lwtune) = @$count{ map { $_->{name} } $bench->servers };
	my $name = $bench->{null} ? 'again' : 'counts';

	return Report::absent('instructions', "valgrind gave no count for $cell")
	  if !defined $stock || !defined $lwtune;
	return Report::row(
		measurement => 'instructions',
		cell => $cell,
		arm => $name,
		what => 'instructions',
		figure => { n => 1, ratio => $lwtune / $stock, median => $lwtune / $stock },
		note => sprintf('stock %.1f, %s %.1f', $stock, $name, $lwtune),
		raw => $count);
}

sub of_one_round
{
	my ($server, $load) = @_;
	my ($few, $many) = map { collected($server, $load->{input}->($_)) } @$load{qw(few many)};

	return undef if !defined $few || !defined $many;
	return ($many - $few) / ($load->{many} - $load->{few});
}

# A single-user server reads a statement from each line.
sub pairs
{
	my ($rounds) = @_;

	return "SELECT lwtune_torture_pair($rounds)\n";
}

sub selects
{
	my ($rounds) = @_;

	return join '', map { "SELECT abalance FROM pgbench_accounts WHERE aid = $_\n" } 1 .. $rounds;
}

sub transfers
{
	my ($rounds) = @_;

	return join '', map {
		my ($aid, $tid, $bid) = ($_ * 7919 % 100_000 + 1, $_ % 10 + 1, 1);

		"BEGIN\n"
		  . "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = $aid\n"
		  . "SELECT abalance FROM pgbench_accounts WHERE aid = $aid\n"
		  . "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = $tid\n"
		  . "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = $bid\n"
		  . "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($tid, $bid, $aid, 1, now())\n"
		  . "COMMIT\n"
	} 1 .. $rounds;
}

# instructions of a whole single-user server with this input, or undef
sub collected
{
	my ($server, $statements) = @_;
	my $out = "$server->{dir}/valgrind.out";
	my $input = "$server->{dir}/valgrind.input";

	open(my $handle, '>', $input) or die "cannot write $input: $!\n";
	print $handle $statements;
	close $handle;

	# the takeover changes code, which valgrind must not have kept translated
	system(join ' ', 'valgrind', '--tool=callgrind', '--smc-check=all',
		'--callgrind-out-file=/dev/null',
		$server->program('postgres'), '--single', '-D', "$server->{dir}/data",
		'postgres', "<$input", ">$out", '2>&1');
	open($handle, '<', $out) or return undef;
	my $text = join '', <$handle>;

	return undef if $text =~ /ERROR:|FATAL:|PANIC:/;
	return $text =~ /Collected : (\d+)/ ? $1 : undef;
}

1;
