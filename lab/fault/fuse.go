package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Requests of the kernel's FUSE protocol, version 7 (include/uapi/linux/fuse.h).
const (
	fuseLookup      = 1
	fuseForget      = 2
	fuseGetattr     = 3
	fuseStatfs      = 17
	fuseInit        = 26
	fuseOpendir     = 27
	fuseReaddir     = 28
	fuseReleasedir  = 29
	fuseInterrupt   = 36
	fuseBatchForget = 42
)

// serveVolume mounts an empty file system at dir and answers the kernel until SIGUSR1 comes. From
// then on it reads each request and loses it.
func serveVolume(dir string) error {
	device, err := syscall.Open("/dev/fuse", syscall.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("/dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device)
	if err := syscall.Mount("lab-volume", dir, "fuse.lab-volume", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	fmt.Println("mounted")
	lose := make(chan os.Signal, 1)
	signal.Notify(lose, syscall.SIGUSR1)
	for request := make([]byte, 1<<20); ; {
		n, err := syscall.Read(device, request)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ENOENT): // a request that was taken back
			continue
		case errors.Is(err, syscall.ENODEV): // unmounted
			return nil
		case err != nil:
			return err
		}
		select {
		case <-lose:
			time.Sleep(time.Hour)
		default:
		}
		if answer := answerRequest(request[:n]); answer != nil {
			if _, err := syscall.Write(device, answer); err != nil && !errors.Is(err, syscall.ENOENT) {
				return err
			}
		}
	}
}

// answerRequest makes the answer to a request, nil where the kernel expects none. The file system
// is an empty directory.
func answerRequest(request []byte) []byte {
	const found, unknown = 0, -int32(syscall.ENOSYS)
	le := binary.LittleEndian
	opcode, unique := le.Uint32(request[4:]), le.Uint64(request[8:])
	code, body := int32(found), []byte{}
	switch opcode {
	case fuseForget, fuseBatchForget, fuseInterrupt:
		return nil
	case fuseInit:
		body = make([]byte, 64)
		le.PutUint32(body[0:], 7)
		le.PutUint32(body[4:], 31)
		le.PutUint32(body[20:], 1<<16) // the most that is written at once
	case fuseGetattr:
		body = make([]byte, 104)         // good for no time at all, so that each stat asks
		le.PutUint64(body[16:], 1)       // inode
		le.PutUint32(body[76:], 0o40755) // mode: a directory
		le.PutUint32(body[80:], 2)       // links
		le.PutUint32(body[96:], 4096)    // block size
	case fuseStatfs:
		body = make([]byte, 80)
		le.PutUint32(body[40:], 4096)
		le.PutUint32(body[44:], 255)
	case fuseOpendir:
		body = make([]byte, 16)
	case fuseReaddir, fuseReleasedir:
	case fuseLookup:
		code = -int32(syscall.ENOENT)
	default:
		code = unknown
	}
	answer := make([]byte, 16, 16+len(body))
	le.PutUint32(answer[0:], uint32(16+len(body)))
	le.PutUint32(answer[4:], uint32(code))
	le.PutUint64(answer[8:], unique)
	return append(answer, body...)
}
