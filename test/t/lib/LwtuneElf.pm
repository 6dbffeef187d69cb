# LwtuneElf
#	  Find a function in a server's executable, and change a copy of it.
#
# Just enough of ELF for 64-bit little-endian files: dynamic symbols, and where
# in the file an address comes from.
#
package LwtuneElf;

use strict;
use warnings;

# LwtuneElf->read(FILE)
sub read
{
	my ($class, $file) = @_;
	my $self = bless { file => $file, symbol => {} }, $class;

	open(my $fh, '<:raw', $file) or die "could not open $file: $!\n";
	local $/;
	$self->{bytes} = <$fh>;
	close $fh;
	die "$file is no 64-bit little-endian ELF file\n"
	  if substr($self->{bytes}, 0, 6) ne "\x7fELF\x02\x01";

	my ($phoff, $shoff) = unpack('x32 Q< Q<', $self->{bytes});
	my ($phentsize, $phnum, $shentsize, $shnum) =
	  unpack('x54 v v v v', $self->{bytes});

	# [address, offset, length in the file, flags]
	foreach my $i (0 .. $phnum - 1)
	{
		my ($type, $flags, $offset, $address, undef, $length) =
		  unpack('V V Q< Q< Q< Q<', substr($self->{bytes}, $phoff + $i * $phentsize, $phentsize));
		push @{ $self->{segments} }, [ $address, $offset, $length, $flags ]
		  if $type == 1;
	}

	my @sections = map {
		[
			unpack(
				'V V Q< Q< Q< Q< V V Q< Q<',
				substr($self->{bytes}, $shoff + $_ * $shentsize, $shentsize))
		]
	} 0 .. $shnum - 1;
	my ($dynsym) = grep { $_->[1] == 11 } @sections;
	my (undef, undef, undef, undef, $at, $size, $link) = @$dynsym;
	my $names_at = $sections[$link][4];

	for (my $entry = $at; $entry < $at + $size; $entry += 24)
	{
		my ($name, undef, undef, undef, $value, $length) =
		  unpack('V C C v Q< Q<', substr($self->{bytes}, $entry, 24));
		my $start = $names_at + $name;
		my $end   = index($self->{bytes}, "\0", $start);
		$self->{symbol}{ substr($self->{bytes}, $start, $end - $start) } =
		  { address => $value, size => $length, entry => $entry };
	}
	return $self;
}

sub offset_of_address
{
	my ($self, $address) = @_;

	foreach my $segment (@{ $self->{segments} })
	{
		my ($start, $offset, $length) = @$segment;
		return $offset + $address - $start
		  if $address >= $start && $address < $start + $length;
	}
	die sprintf("no address 0x%x in %s\n", $address, $self->{file});
}

# { address, size, offset in the file }
sub function
{
	my ($self, $name) = @_;
	my $symbol = $self->{symbol}{$name}
	  or die "no symbol $name in $self->{file}\n";

	return { %$symbol, offset => $self->offset_of_address($symbol->{address}) };
}

sub defines
{
	my ($self, $name) = @_;

	return defined $self->{symbol}{$name} && $self->{symbol}{$name}{address} != 0;
}

sub code_of
{
	my ($self, $name) = @_;
	my $function = $self->function($name);

	return substr($self->{bytes}, $function->{offset}, $function->{size});
}

# Changes, to be written with write().
sub set_code
{
	my ($self, $name, $code) = @_;

	substr($self->{bytes}, $self->function($name)->{offset}, length $code) =
	  $code;
	return;
}

sub set_size
{
	my ($self, $name, $size) = @_;

	substr($self->{bytes}, $self->function($name)->{entry} + 16, 8) =
	  pack('Q<', $size);
	return;
}

# Hide a symbol from the dynamic linker: make it undefined.
sub hide
{
	my ($self, $name) = @_;

	substr($self->{bytes}, $self->function($name)->{entry} + 6, 10) =
	  pack('v Q<', 0, 0);
	return;
}

sub write
{
	my ($self, $file) = @_;

	open(my $fh, '>:raw', $file) or die "could not create $file: $!\n";
	print $fh $self->{bytes};
	close($fh) or die "could not write $file: $!\n";
	chmod 0755, $file;
	return;
}

1;
