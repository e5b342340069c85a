/* Calls `Spin` of each library for a while: MILLISECONDS LIBRARY... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// Seconds of its CPU time: each library has samples, however long others run.
static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    void* const library = dlopen(argv[i], RTLD_NOW);
    unsigned long (*spin)(unsigned long) =
        library == NULL
            ? NULL
            : (unsigned long (*)(unsigned long))dlsym(library, "Spin");
    if (spin == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const double until = Now() + atof(argv[1]) / 1000;
    while (Now() < until) spin(100000);
  }
  return 0;
}
