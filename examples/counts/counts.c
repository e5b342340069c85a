/* counts.cc in C: page faults of one pass over new memory. */
#include <countrace/counts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const size_t bytes = 256 * 4096;
  struct countrace_counts set;
  struct countrace_reading begin, end, pass;
  volatile char* memory; /* so that the compiler keeps the pass */
  size_t at;
  int error = countrace_counts_open(&set, "page-faults,task-clock");
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", set.wrong, countrace_counts_text(error));
    return 1;
  }
  error = countrace_counts_read(&set, &begin);
  memory = malloc(bytes);
  for (at = 0; memory != NULL && at < bytes; ++at) memory[at] = 1;
  if (error == 0) error = countrace_counts_read(&set, &end);
  free((void*)(uintptr_t)memory);
  countrace_counts_close(&set);
  if (error != 0) {
    fprintf(stderr, "%s\n", countrace_counts_text(error));
    return 1;
  }
  countrace_counts_between(&begin, &end, &pass);
  printf("pass:faults %" PRIu64 "\n", countrace_counts_value(&pass, 0).value);
  return 0;
}
