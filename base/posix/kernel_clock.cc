#include "base/posix/kernel_clock.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/posix/own_call.h"

namespace countrace::base {

namespace {

using Clock = int (*)(clockid_t, timespec*);
Clock g_vdso_clock = nullptr;

// Interrupts between two readings.
constexpr std::uint64_t kClockErrorNs = 1'000'000;

#if defined(__x86_64__)
constexpr char kFunction[] = "__vdso_clock_gettime";
#else
constexpr char kFunction[] = "__kernel_clock_gettime";
#endif

std::uint64_t NsOf(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t CalledNs(clockid_t clock) noexcept {
  timespec now{};
  OwnCall(SYS_clock_gettime, clock, &now);
  return NsOf(now);
}

// Null: not there. The linker places the symbols in front of their names.
void* SymbolOf(const char* image) noexcept {
  const auto* const file = reinterpret_cast<const ElfW(Ehdr)*>(image);
  if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
  const ElfW(Dyn)* dynamic = nullptr;
  const char* base = nullptr;
  const auto* segment =
      reinterpret_cast<const ElfW(Phdr)*>(image + file->e_phoff);
  for (int i = 0; i < file->e_phnum; ++i, ++segment) {
    if (segment->p_type == PT_LOAD && base == nullptr) {
      base = image + segment->p_offset - segment->p_vaddr;
    } else if (segment->p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(image + segment->p_offset);
    }
  }
  if (dynamic == nullptr || base == nullptr) return nullptr;
  const ElfW(Sym)* symbol = nullptr;
  const char* names = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const char* const at = base + dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_STRTAB) names = at;
    if (dynamic->d_tag == DT_SYMTAB) {
      symbol = reinterpret_cast<const ElfW(Sym)*>(at);
    }
  }
  if (symbol == nullptr || names == nullptr) return nullptr;
  for (; reinterpret_cast<const char*>(symbol + 1) <= names; ++symbol) {
    if (symbol->st_shndx != SHN_UNDEF &&
        strcmp(names + symbol->st_name, kFunction) == 0) {
      return const_cast<char*>(base) + symbol->st_value;
    }
  }
  return nullptr;
}

}  // namespace

void FindKernelClock() noexcept {
  const unsigned long image = getauxval(AT_SYSINFO_EHDR);
  if (image == 0) return;
  const auto clock =
      reinterpret_cast<Clock>(SymbolOf(reinterpret_cast<const char*>(image)));
  if (clock == nullptr) return;
  // A tool may have put code of its own there.
  timespec now{};
  const std::uint64_t before = CalledNs(CLOCK_MONOTONIC);
  if (clock(CLOCK_MONOTONIC, &now) != 0) return;
  const std::uint64_t ns = NsOf(now);
  if (ns + kClockErrorNs < before ||
      ns > CalledNs(CLOCK_MONOTONIC) + kClockErrorNs)
    return;
  g_vdso_clock = clock;
}

std::uint64_t KernelClockNs(clockid_t clock) noexcept {
  timespec now{};
  if (g_vdso_clock == nullptr || g_vdso_clock(clock, &now) != 0) {
    return CalledNs(clock);
  }
  return NsOf(now);
}

}  // namespace countrace::base
