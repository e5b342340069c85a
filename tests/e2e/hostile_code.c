/* Its source's name is long, so that a test can put others in its place. */
#line 1 "/placeholder-of-a-folder-placeholder-of-a-folder-placeholder-of-a-folder-placeholder-of-a-folder/placeholder-of-a-file-placeholder.c"
unsigned long Spin(unsigned long rounds) {
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < rounds; ++i) sum += i * 3;
  return sum;
}
