package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// handOut makes the sockets of the door, and waits until they are taken.
func (d Door) handOut() (err error) {
	var sockets []int
	defer func() {
		for _, fd := range sockets {
			err = errors.Join(err, unix.Close(fd))
		}
	}()
	ports := d.Ports
	if d.Proxy {
		fd, err := loopbackSocket(unix.SOCK_DGRAM, namePort)
		if errors.Is(err, unix.EACCES) { // without the right to that port nobody answers there, which is as quick
			fd, err = loopbackSocket(unix.SOCK_DGRAM, 0)
		}
		if err != nil {
			return fmt.Errorf("a resolver of names: %w", err)
		}
		sockets, ports = append(sockets, fd), append([]int{ProxyPort}, ports...)
	}
	for _, port := range ports {
		fd, err := loopbackSocket(unix.SOCK_STREAM, port)
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		sockets = append(sockets, fd)
	}
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(out)) }()
	if err := unix.Connect(out, &unix.SockaddrUnix{Name: filepath.Join(DoorAt, DoorSocket)}); err != nil {
		return fmt.Errorf("the way out: %w", err)
	}
	if err := unix.Sendmsg(out, []byte{1}, unix.UnixRights(sockets...), nil, 0); err != nil {
		return fmt.Errorf("the way out: %w", err)
	}
	answer := make([]byte, 1)
	n, err := unix.Read(out, answer)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(out, answer)
	}
	if err == nil && n != 1 {
		err = errors.New("the way out is closed")
	}
	return err
}

// loopbackSocket listens on the loopback of this network.
func loopbackSocket(kind, port int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
