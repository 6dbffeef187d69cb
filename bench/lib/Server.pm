# Server.pm - a temporary server to measure.

package Server;

use strict;
use warnings;

use Time::HiRes qw(sleep);
use Session;

# a reloaded setting is in force everywhere after 0.1 s
my $settling_time = 0.2;

# All servers have the same configuration, and nothing in the background that
# would fall into one slice and not into the next.
my $configuration = <<'EOC';
listen_addresses = ''
max_connections = 100
shared_buffers = 256MB
fsync = off
wal_level = minimal
max_wal_senders = 0
min_wal_size = 1GB
max_wal_size = 4GB
checkpoint_timeout = 1h
autovacuum = off
EOC

my %running;

# make(name =>, work => folder, bin => folder of programs, stage => folder,
#      libraries => folder of the libraries in it, preload => library or ''
#      [, copy_of => stopped server])
sub make
{
	my ($class, %arg) = @_;
	my $self = bless { %arg, dir => "$arg{work}/$arg{name}", set => {} }, $class;

	mkdir $self->{dir} or die "cannot make $self->{dir}: $!\n";
	$self->{log} = "$self->{dir}/log";
	if ($arg{copy_of})
	{
		$self->run_logged('cp', '-a', "$arg{copy_of}{dir}/data", "$self->{dir}/data");
	}
	else
	{
		$self->run_logged($self->program('initdb'), '-D', "$self->{dir}/data",
			qw(-U postgres -A trust -N --no-locale -E UTF8));
		append("$self->{dir}/data/postgresql.conf", $configuration);
	}

	# The last line of a name is the one that counts.  extension_destdir does not
	# help where a library is named without a folder, as in preloading.
	append("$self->{dir}/data/postgresql.conf",
		"unix_socket_directories = '$self->{dir}'\n"
		  . "extension_destdir = '$self->{stage}'\n"
		  . "dynamic_library_path = '$self->{libraries}:\$libdir'\n"
		  . "shared_preload_libraries = '$self->{preload}'\n");
	return $self;
}

sub append
{
	my ($file, $text) = @_;

	open(my $handle, '>>', $file) or die "cannot write $file: $!\n";
	print $handle $text;
	close $handle or die "cannot write $file: $!\n";
}

sub program
{
	my ($self, $name) = @_;

	return "$self->{bin}/$name";
}

# Run a command with its output in the log, where it is found if it fails.
sub run_logged
{
	my ($self, @command) = @_;
	my $pid = fork;

	die "cannot fork: $!\n" unless defined $pid;
	if ($pid == 0)
	{
		open(STDOUT, '>>', "$self->{log}.commands") && open(STDERR, '>&', \*STDOUT) && exec @command;
		warn "cannot run $command[0]: $!\n";
		require POSIX;
		POSIX::_exit(127);
	}
	waitpid $pid, 0;
	$self->fail("failed: @command") if $?;
}

# What a command writes to standard output; the rest goes to the log.
sub output_of
{
	my ($self, @command) = @_;
	my $output = qx(@command 2>>$self->{log}.commands);

	$self->fail("failed: @command") if $?;
	return $output;
}

# Transactions per second of a run of pgbench with these options.
sub pgbench_rate
{
	my ($self, @options) = @_;
	my $output = $self->output_of($self->program('pgbench'), @options,
		'-h', $self->{dir}, qw(-U postgres postgres));

	$output =~ /^tps = ([0-9.]+)/m or die "pgbench printed no rate:\n$output";
	return $1;
}

sub fail
{
	my ($self, $what) = @_;
	my @tail;

	for my $log ("$self->{log}.commands", $self->{log})
	{
		open(my $handle, '<', $log) or next;
		my @lines = <$handle>;
		push @tail, @lines > 15 ? @lines[ -15 .. -1 ] : @lines;
	}
	die "$what\n", @tail;
}

sub start
{
	my ($self) = @_;

	$running{ $self->{name} } = $self;
	$self->run_logged($self->program('pg_ctl'), '-D', "$self->{dir}/data",
		'-l', $self->{log}, qw(-w -t 60 start));
	$self->{control} = Session->new($self);
}

sub stop
{
	my ($self) = @_;

	# sessions first, or their ends would be reported as failures
	$_->close for $self->{control} // (), @{ $self->{sessions} // [] };
	delete @$self{qw(control sessions)};
	$self->run_logged($self->program('pg_ctl'), '-D', "$self->{dir}/data", qw(-m fast -w -t 60 stop));
	delete $running{ $self->{name} };
}

# Whatever is still running when the program ends, and however it ends.
sub stop_all
{
	for my $self (values %running)
	{
		next unless -e "$self->{dir}/data/postmaster.pid";
		eval {
			$self->run_logged($self->program('pg_ctl'), '-D', "$self->{dir}/data",
				qw(-m immediate -w -t 20 stop));
			1;
		} or warn "could not stop the server in $self->{dir}\n";
	}
	%running = ();
}

sub query
{
	my ($self, $query) = @_;

	return $self->{control}->query($query);
}

# So many persistent sessions, opened once and shared by all measurements.
sub sessions
{
	my ($self, $n) = @_;
	my $have = $self->{sessions} //= [];

	push @$have, Session->new($self) while @$have < $n;
	return @$have[ 0 .. $n - 1 ];
}

# Have these settings in force, and no others of those set here before.
sub settings
{
	my ($self, %want) = @_;
	my $now = $self->{set};

	return if join('|', map { "$_=$now->{$_}" } sort keys %$now) eq
	  join('|', map { "$_=$want{$_}" } sort keys %want);
	$self->query("ALTER SYSTEM RESET $_") for grep { !exists $want{$_} } keys %$now;
	$self->query("ALTER SYSTEM SET $_ = '$want{$_}'") for keys %want;
	$self->query('SELECT pg_reload_conf()');
	$self->{set} = {%want};
	sleep $settling_time;
}

1;
