#include "base/code/elf_headers.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>

namespace countrace::base {
namespace {

// In either byte order: the values that matter read the same.
template <typename Head>
bool HasFew(const char* bytes) {
  Head head;
  std::memcpy(&head, bytes, sizeof(head));
  return head.e_phnum != PN_XNUM && (head.e_shnum != 0 || head.e_shoff == 0);
}

}  // namespace

bool HasFewElfHeaders(int fd) {
  char bytes[sizeof(Elf64_Ehdr)] = {};
  if (pread(fd, bytes, sizeof(bytes), 0) < 0) return false;
  return bytes[EI_CLASS] == ELFCLASS32 ? HasFew<Elf32_Ehdr>(bytes)
                                       : HasFew<Elf64_Ehdr>(bytes);
}

}  // namespace countrace::base
