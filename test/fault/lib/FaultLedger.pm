# FaultLedger
#	  Rows of which a client was told that they are committed, and whether they
#	  are there.
#
package FaultLedger;

use strict;
use warnings;

use Exporter 'import';
use FaultLoad;
use File::Basename;
use List::Util qw(sum0);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(start_ledger told told_count rows missing_rows load_goes_on);

my $source = dirname(__FILE__) . '/../ledger.c';
my $folder;
my $program;
my $writers = 0;

sub build
{
	chomp(my ($cc, $headers, $libraries) =
		  map { scalar `pg_config --$_` } qw(cc includedir libdir));

	$folder  = PostgreSQL::Test::Utils::tempdir();
	$program = "$folder/ledger";
	my @command = (
		split(' ', $cc),
		qw(-std=gnu99 -O1 -g -Wall -Wextra -Werror),
		'-isystem', $headers, '-o', $program, $source, "-L$libraries", '-lpq');
	system(@command) == 0 or BAIL_OUT("could not build the ledger: @command");
	return;
}

# So many more writers for a server; returns their numbers and process ids, as
# { number => pid }.
sub start_ledger
{
	my ($node, $n) = @_;
	my %started;

	build() unless defined $program;
	foreach (1 .. $n)
	{
		$writers++;
		open(my $new, '>', "$folder/$writers") or die "could not write $folder/$writers: $!\n";
		$started{$writers} = spawn("ledger-$writers", $program, $writers, "$folder/$writers",
			$node->connstr('postgres') . ' user=loader');
	}
	return \%started;
}

# What writers were told so far, per writer: for '+', '-' and '?', number => 1.
# Files only grow, and what was read of them is kept.
my (%read, %known);

sub read_on
{
	my ($writer) = @_;
	my $known = $known{$writer} //= { '+' => {}, '-' => {}, '?' => {} };

	open(my $in, '<', "$folder/$writer") or die "could not read $folder/$writer: $!\n";
	seek($in, $read{$writer} // 0, 0);
	while (my $line = <$in>)
	{
		# a line without its end is being written just now
		last unless $line =~ /^([-+?]) (\d+)\n/;
		$known->{$1}{$2} = 1;
		$read{$writer} += length $line;
	}
	return $known;
}

sub all_read
{
	my (@of) = @_;
	return map { [ $_, read_on($_) ] } @of ? @of : 1 .. $writers;
}

# How many rows have this outcome.
sub told_count
{
	my ($outcome, @of) = @_;
	return sum0(map { scalar keys %{ $_->[1]{$outcome} } } all_read(@of));
}

# The rows that have it: "writer:number".
sub told
{
	my ($outcome, @of) = @_;
	return map { my ($writer, $known) = @$_; map { "$writer:$_" } keys %{ $known->{$outcome} } } all_read(@of);
}

# What a server has: writer:number => position in the log.
sub rows
{
	my ($node) = @_;
	my %rows;
	my $text = '';

	$node->psql(
		'postgres', q{SELECT writer || ':' || number || ' ' || lsn FROM ledger},
		stdout       => \$text,
		on_error_die => 1,
		timeout      => 60);
	foreach (split /\n/, $text)
	{
		my ($row, $high, $low) = m{^(\S+) ([0-9A-F]+)/([0-9A-F]+)$} or die "not a row: $_\n";
		$rows{$row} = hex($high) * 2**32 + hex($low);
	}
	return \%rows;
}

# Nothing, or what is wrong.  May be asked while the writers write.
sub missing_rows
{
	my ($node, @of) = @_;
	my @committed   = told('+', @of);
	my @refused     = told('-', @of);
	my $rows        = rows($node);
	my @missing     = grep { !exists $rows->{$_} } @committed;
	my @there       = grep { exists $rows->{$_} } @refused;
	my @problems;

	push @problems, scalar(@missing) . " committed rows are missing, as $missing[0]" if @missing;
	push @problems, scalar(@there) . " rows are there that were refused, as $there[0]" if @there;
	push @problems, 'no row was ever committed' unless @committed;
	return @problems;
}

# True if the writers got so many rows more committed within a minute.
sub load_goes_on
{
	my ($more, @of) = @_;
	my $want     = told_count('+', @of) + ($more // 20);
	my $deadline = time + 60;

	while (time < $deadline)
	{
		return 1 if told_count('+', @of) >= $want;
		sleep 0.05;
	}
	return 0;
}

1;
