#include "runtime/inprocess/sites/hook_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "logformat/discard_errors.h"
#include "logformat/session_layout.h"
#include "runtime/inprocess/process/file_size_limit.h"
#include "runtime/inprocess/process/process_state.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

constexpr std::size_t kMaxNameBytes = 100;
// More than all ids with the longest lines, and a line for each process.
constexpr off_t kMaxRegistryBytes = 64 << 20;

// One parsed line: pointers into the text; fields end at '\t' or '\n'.
struct Line {
  std::uint32_t id;
  const char* kind;
  std::size_t kind_bytes;
  const char* types;
  std::size_t types_bytes;
  const char* name;
  std::size_t name_bytes;
};

const char* FieldEnd(const char* at, const char* end) {
  while (at < end && *at != '\t' && *at != '\n') ++at;
  return at;
}

bool ParseLine(const char* at, const char* end, Line* line) {
  line->id = static_cast<std::uint32_t>(strtoul(at, nullptr, 10));
  const char* tab = FieldEnd(at, end);
  if (tab == end || *tab != '\t') return false;
  line->kind = tab + 1;
  tab = FieldEnd(line->kind, end);
  line->kind_bytes = static_cast<std::size_t>(tab - line->kind);
  if (tab == end || *tab != '\t') return false;
  line->types = tab + 1;
  tab = FieldEnd(line->types, end);
  line->types_bytes = static_cast<std::size_t>(tab - line->types);
  if (tab == end || *tab != '\t') return false;
  line->name = tab + 1;
  tab = FieldEnd(line->name, end);
  line->name_bytes = static_cast<std::size_t>(tab - line->name);
  return line->id != 0;
}

// What a level's site or line says whose state it is; null: it is no level.
const char* LevelScope(const countrace_hook_site& site) {
  static constexpr const char* kScopes[] = {nullptr, "thread", "process",
                                            "machine"};
  const unsigned scope = site.types[COUNTRACE_MAX_PAYLOAD_VALUES - 1];
  const bool level = site.kind == COUNTRACE_SITE_POINT && site.count == 1 &&
                     scope <= COUNTRACE_LEVEL_OF_MACHINE;
  return level ? kScopes[scope] : nullptr;
}

bool Equal(const char* field, std::size_t bytes, const char* text) {
  return strlen(text) == bytes && memcmp(field, text, bytes) == 0;
}

// True if the line behind a hook's says of it what `scope` does.
bool IsLevel(const char* at, const char* end, std::uint32_t id,
             const char* scope) {
  Line line = {};
  const bool level = at < end && !ParseLine(at, end, &line) &&
                     line.name != nullptr &&
                     Equal(line.kind, line.kind_bytes, "level") &&
                     strtoul(line.types, nullptr, 10) == id;
  if (!level) return scope == nullptr;
  return scope != nullptr && Equal(line.name, line.name_bytes, scope);
}

bool IsName(const char* name) {
  if (name == nullptr) return false;
  const std::size_t bytes = strlen(name);
  if (bytes == 0 || bytes > kMaxNameBytes) return false;
  for (const char* at = name; *at != '\0'; ++at) {
    const bool letter =
        (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
    const bool digit = *at >= '0' && *at <= '9';
    if (!letter && !digit && *at != '_' && *at != '.' && *at != '-') {
      return false;
    }
  }
  return true;
}

// A text for a terminal, of which the program may have made anything.
class Printable {
 public:
  explicit Printable(const char* text) noexcept
      : Printable(text, text != nullptr ? strlen(text) : 0) {}
  Printable(const char* text, std::size_t bytes) noexcept {
    static constexpr char kDigits[] = "0123456789abcdef";
    char* to = text_;
    for (std::size_t i = 0; i < bytes && i < kMost; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= ' ' && byte <= '~' && byte != '\\') {
        *to++ = text[i];
        continue;
      }
      *to++ = '\\';
      *to++ = 'x';
      *to++ = kDigits[byte >> 4];
      *to++ = kDigits[byte & 15];
    }
    *to = '\0';
  }
  const char* text() const noexcept { return text_; }

 private:
  static constexpr std::size_t kMost = 200;
  char text_[4 * kMost + 1];
};

bool IsWellFormed(const countrace_hook_site& site) {
  if (site.bytes != sizeof(countrace_hook_site)) {
    fprintf(stderr,
            "countrace: hooks stay off: descriptor-bytes=%u, expected=%zu; "
            "rebuild the program with the headers of this version\n",
            site.bytes, sizeof(countrace_hook_site));
    return false;
  }
  if (!IsName(site.provider) || !IsName(site.name)) {
    fprintf(stderr,
            "countrace: hook %s:%s (%s:%u) stays off: provider and "
            "name must be 1 to %zu characters of [A-Za-z0-9_.-]\n",
            Printable(site.provider).text(), Printable(site.name).text(),
            Printable(site.file).text(), site.line, kMaxNameBytes);
    return false;
  }
  if (site.hook_id >= lf::kHookIdAutomaticMin) {
    fprintf(stderr,
            "countrace: hook %s:%s (%s:%u) stays off: explicit id %u, allowed "
            "%u to %u\n",
            site.provider, site.name, Printable(site.file).text(), site.line,
            site.hook_id, lf::kHookIdMin, lf::kHookIdAutomaticMin - 1);
    return false;
  }
  return site.count <= COUNTRACE_MAX_PAYLOAD_VALUES;
}

// Its holder may have stopped, or hold it for ever: a program that starts does
// not wait for it longer than 100 ms of its own time.
bool LockSoon(int fd) noexcept {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (base::OwnCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    const timespec pause = {0, 1'000'000};
    base::OwnCall(SYS_nanosleep, &pause, nullptr);
  }
  errno = EWOULDBLOCK;
  return false;
}

}  // namespace

HookRegistry::~HookRegistry() {
  if (fd_ >= 0) base::OwnCall(SYS_close, fd_);  // releases the lock
  if (text_ != nullptr) base::OwnCall(SYS_munmap, text_, capacity_);
}

void HookRegistry::Fail(lf::DiscardCause cause, int error) noexcept {
  cause_ = cause;
  g_session->last_errno.store(static_cast<std::uint32_t>(error),
                              std::memory_order_relaxed);
}

bool HookRegistry::Open() noexcept {
  if (failed_) return false;
  if (text_ != nullptr) return true;
  failed_ = true;
  char path[sizeof(g_session_path) + 16];
  snprintf(path, sizeof(path), "%s/%s", g_session_path, lf::kHooksFile);
  fd_ = static_cast<int>(
      base::OwnCall(SYS_openat, AT_FDCWD, path,
                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status;
  if (fd_ < 0 || !LockSoon(fd_) ||
      base::OwnCall(SYS_fstat, fd_, &status) != 0) {
    const int error = errno;
    Fail(lf::DiscardCause::kNoResource, error);
    if (error != lf::kRegistryIsLocked) {
      fprintf(stderr, "countrace: hooks stay off: cannot open %s: %s\n", path,
              strerror(error));
    }
    return false;
  }
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxRegistryBytes) {
    Fail(lf::DiscardCause::kNoResource, EFBIG);
    return false;
  }
  capacity_ = static_cast<std::size_t>(status.st_size) + 65536;
  // No malloc: a signal handler may be the first to jump, and the heap may be
  // locked under it.
  void* text = base::OwnMap(nullptr, capacity_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (text == MAP_FAILED) {
    Fail(lf::DiscardCause::kNoResource, errno);
    return false;
  }
  text_ = static_cast<char*>(text);
  ssize_t got;
  while ((got = base::OwnCall(SYS_pread64, fd_, text_ + text_bytes_,
                              capacity_ - text_bytes_,
                              static_cast<off_t>(text_bytes_))) > 0) {
    text_bytes_ += static_cast<std::size_t>(got);
  }
  // A process died while it appended: ignore its incomplete line.
  while (text_bytes_ > 0 && text_[text_bytes_ - 1] != '\n') --text_bytes_;
  if (base::OwnCall(SYS_ftruncate, fd_, static_cast<off_t>(text_bytes_)) != 0) {
    Fail(lf::DiscardCause::kNoResource, errno);
    return false;
  }
  failed_ = false;
  return true;
}

bool HookRegistry::Append(const char* line, std::size_t bytes) noexcept {
  if (text_bytes_ + bytes > capacity_) {
    const std::size_t capacity = (text_bytes_ + bytes) * 2;
    void* larger = base::OwnRemap(text_, capacity_, capacity, MREMAP_MAYMOVE);
    if (larger == MAP_FAILED) {
      Fail(lf::DiscardCause::kNoResource, errno);
      return false;
    }
    text_ = static_cast<char*>(larger);
    capacity_ = capacity;
  }
  if (!FileMayHave(text_bytes_ + bytes)) {
    Fail(lf::DiscardCause::kNoResource, EFBIG);
    return false;
  }
  const ssize_t wrote = base::OwnCall(SYS_pwrite64, fd_, line, bytes,
                                      static_cast<off_t>(text_bytes_));
  if (wrote != static_cast<ssize_t>(bytes)) {
    Fail(lf::DiscardCause::kDiskFull, wrote < 0 ? errno : ENOSPC);
    return false;
  }
  memcpy(text_ + text_bytes_, line, bytes);
  text_bytes_ += bytes;
  return true;
}

void HookRegistry::AddProcess(std::int32_t pid) noexcept {
  char comm[17] = {};
  if (!Open() || base::OwnCall(SYS_prctl, PR_GET_NAME, comm) != 0) return;
  for (char* c = comm; *c != '\0'; ++c) {
    if (*c == '\t' || *c == '\n') *c = '?';
  }
  char line[64];
  const int bytes =
      snprintf(line, sizeof(line), "0\tprocess\t%d\t%s\n", pid, comm);
  Append(line, static_cast<std::size_t>(bytes));
}

bool HookRegistry::Register(const countrace_hook_site& site,
                            RegisteredHook* hook) noexcept {
  if (!IsWellFormed(site)) {
    Fail(lf::DiscardCause::kNoResource, lf::kHookRefused);
    return false;
  }
  if (!Open()) return false;
  char name[2 * kMaxNameBytes + 2];
  snprintf(name, sizeof(name), "%s:%s", site.provider, site.name);
  char types[COUNTRACE_MAX_PAYLOAD_VALUES + 1];
  std::size_t type_count = 0;
  for (; type_count < site.count; ++type_count) {
    const unsigned type = site.types[type_count];
    types[type_count] = lf::kPayloadTypeLetters[type <= 5 ? type : 0];
  }
  if (type_count == 0) types[type_count++] = '-';
  types[type_count] = '\0';
  const char* kind = site.kind == COUNTRACE_SITE_POINT ? "point" : "segment";
  const char* const scope = LevelScope(site);

  std::uint32_t highest = lf::kHookIdAutomaticMin - 1;
  const char* end = text_ + text_bytes_;
  for (const char* at = text_; at < end;) {
    const char* next = static_cast<const char*>(
        memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (next == nullptr) break;
    Line line;
    if (ParseLine(at, next + 1, &line)) {
      const bool same_name = Equal(line.name, line.name_bytes, name) &&
                             Equal(line.kind, line.kind_bytes, kind);
      const bool same = same_name &&
                        (site.kind == COUNTRACE_SITE_EXIT ||
                         Equal(line.types, line.types_bytes, types)) &&
                        IsLevel(next + 1, end, line.id, scope);
      if (same && (site.hook_id == 0 || site.hook_id == line.id)) {
        hook->id = line.id;
        return true;
      }
      if (site.hook_id != 0 && line.id == site.hook_id) {
        fprintf(stderr,
                "countrace: hook %s (%s:%u) stays off: id %u is already %s; "
                "give each hook its own id\n",
                name, Printable(site.file).text(), site.line, site.hook_id,
                Printable(line.name, line.name_bytes).text());
        Fail(lf::DiscardCause::kNoResource, lf::kHookRefused);
        return false;
      }
      if (line.id > highest && line.id < lf::kHookIdKernelMin) {
        highest = line.id;
      }
    }
    at = next + 1;
  }
  const std::uint32_t id = site.hook_id != 0 ? site.hook_id : highest + 1;
  if (id >= lf::kHookIdKernelMin) {
    fprintf(stderr,
            "countrace: hook %s stays off: all ids up to %u are taken; select "
            "fewer with --hooks\n",
            name, lf::kHookIdKernelMin - 1);
    Fail(lf::DiscardCause::kNoResource, lf::kHookRefused);
    return false;
  }
  char line[1024];
  int bytes = snprintf(line, sizeof(line), "%u\t%s\t%s\t%s\t%.400s:%u\n", id,
                       kind, types, name, site.file, site.line);
  if (bytes <= 0 || bytes >= static_cast<int>(sizeof(line)) - 64) return false;
  // Behind it: of a torn one the hook is left, which then is no level.
  if (scope != nullptr) {
    bytes += snprintf(line + bytes, 64, "0\tlevel\t%u\t%s\n", id, scope);
  }
  if (!Append(line, static_cast<std::size_t>(bytes))) return false;
  hook->id = id;
  return true;
}

}  // namespace countrace::runtime
