// A program whose code a recorder samples.
//
// usage: hostile_code_workload run FILE
//          prints its number and an address, waits for a line, maps FILE as
//          code ("-": nothing) and then works: in code that it wrote at that
//          address, if the line is "code". After 0.3 s of CPU time it maps
//          FILE.later, if there is one
//        hostile_code_workload calls
//          makes system calls, some 25,000 a second
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static void Map(const char* path) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return;
  mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  close(fd);
}

int main(int argc, char** argv) {
  char line[16];
  if (argc == 2) {
    const struct timespec pause = {0, 1000000};
    for (;;) {
      for (int i = 0; i < 30; ++i) syscall(SYS_getppid);
      nanosleep(&pause, NULL);
    }
  }
  unsigned char* const code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %p\n", (int)getpid(), (void*)code);
  fflush(stdout);
  if (argc != 3 || fgets(line, sizeof(line), stdin) == NULL) return 2;
  if (strcmp(argv[2], "-") != 0) Map(argv[2]);
  puts("mapped");
  fflush(stdout);
#if defined(__x86_64__)
  if (strcmp(line, "code\n") == 0) {
    const unsigned char loop[] = {0xeb, 0xfe};  // jumps to itself
    memcpy(code, loop, sizeof(loop));
    ((void (*)(void))code)();
  }
#endif
  while (clock() < CLOCKS_PER_SEC * 3 / 10) {
    for (int i = 0; i < 100000; ++i) sink = sink * 3 + 1;
  }
  char later[4096];
  snprintf(later, sizeof(later), "%s.later", argv[2]);
  Map(later);
  for (;;) sink = sink * 3 + 1;
}
