# Session.pm - a psql that stays connected, driven over pipes.
#
# A new connection for each slice would measure connecting; drivers such as DBI
# are not everywhere.

package Session;

use strict;
use warnings;

use IO::Select;
use IPC::Open3;

my $end_mark = '-- end of answer --';

sub new
{
	my ($class, $server) = @_;
	my ($to, $from);

	# standard error joins standard output, so that errors are seen here
	my $pid = open3(
		$to, $from, undef,
		$server->program('psql'), qw(-X -q -A -t -F), ' ', '-v', 'ON_ERROR_STOP=1',
		'-h', $server->{dir}, qw(-U postgres -d postgres));
	my $self = bless {
		server => $server,
		pid => $pid,
		to => $to,
		from => $from,
		buffer => '',
	}, $class;

	$to->autoflush(1);
	$self->query('SET client_min_messages = error');
	$self->{backend} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# Start a query, several at most; wait_all collects the answers.
sub send_query
{
	my ($self, @queries) = @_;

	local $SIG{PIPE} = 'IGNORE';
	print { $self->{to} } join('', map { "$_;\n" } @queries), "\\echo $end_mark\n";
}

# The answers of sessions that have been sent something, as lists of lines.
sub wait_all
{
	my @sessions = @_;
	my $select = IO::Select->new;
	my %by_handle;

	for my $session (@sessions)
	{
		$select->add($session->{from});
		$by_handle{ $session->{from} } = $session;
	}
	while ($select->count)
	{
		for my $handle ($select->can_read)
		{
			my $session = $by_handle{$handle};

			if (!sysread($handle, $session->{buffer}, 65536, length $session->{buffer}))
			{
				die "a session of the server \"$session->{server}{name}\" ended:\n$session->{buffer}\n";
			}
			$select->remove($handle) if $session->{buffer} =~ /^\Q$end_mark\E\n\z/m;
		}
	}

	my @answers;
	for my $session (@sessions)
	{
		my @lines = split /\n/, $session->{buffer};

		pop @lines;
		push @answers, \@lines;
		$session->{buffer} = '';
	}
	return @answers;
}

sub query
{
	my ($self, $query) = @_;

	$self->send_query($query);
	return join "\n", @{ (wait_all($self))[0] };
}

# how often the backend has gone to sleep since it started
sub sleeps
{
	my ($self) = @_;

	open(my $status, '<', "/proc/$self->{backend}/status")
	  or die "cannot read the status of backend $self->{backend}: $!\n";
	while (my $line = <$status>)
	{
		return $1 if $line =~ /^voluntary_ctxt_switches:\s*(\d+)/;
	}
	die "no count of context switches for backend $self->{backend}\n";
}

sub close
{
	my ($self) = @_;

	CORE::close $self->{to};
	waitpid $self->{pid}, 0;
}

1;
