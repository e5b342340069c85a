// Goroutines whose stacks grow, and are moved, while others run.
package main

import (
	"fmt"
	"os"
	"syscall"
)

//go:noinline
//go:nosplit
func tick(n int) int { // its stack never grows: it begins once a call
	return n + 1
}

//go:noinline
func deep(n int) int {
	var pad [512]byte
	if n == 0 {
		return int(pad[0])
	}
	return tick(deep(n - 1))
}

func main() {
	done := make(chan int)
	for i := 0; i < 20; i++ {
		go func() {
			syscall.Getpgid(0)
			done <- deep(100)
		}()
	}
	sum := 0
	for i := 0; i < 20; i++ {
		sum += <-done
	}
	fmt.Println("ticks", sum)
	os.Exit(3)
}
