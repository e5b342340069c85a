#include "rmap/samples/disassembly.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/scoped_fd.h"
#include "base/text/name_escape.h"

namespace countrace::rmap {
namespace {

constexpr char kObjdump[] = "objdump";
// Some 2 million instructions. A file may be anyone's.
constexpr std::size_t kMostText = std::size_t{1} << 27;

// A pipe, both of whose ends a child does not inherit.
bool OpenPipe(base::ScopedFd& read_end, base::ScopedFd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = base::ScopedFd(ends[0]);
  write_end = base::ScopedFd(ends[1]);
  return true;
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 65536> part;
  while (text.size() < kMostText) {
    const ssize_t bytes = read(fd, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

struct Output {
  std::string text, errors;
  int status = 0;
};

// Errors: NOT_FOUND there is no such program; UNAVAILABLE.
absl::StatusOr<Output> OutputOf(const std::vector<std::string>& words) {
  base::ScopedFd out, to_out;
  if (!OpenPipe(out, to_out)) {
    return absl::UnavailableError(
        absl::StrFormat("pipe: %s", std::strerror(errno)));
  }
  // A file, so that a child with much to say of either kind never waits.
  base::ScopedFd errors(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, to_out.get(), 1);
  if (errors.is_open()) {
    posix_spawn_file_actions_adddup2(&actions, errors.get(), 2);
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  // Messages in the language that is looked for.
  char language[] = "LC_ALL=C";
  std::vector<char*> environment = {language};
  for (char** one = environ; *one != nullptr; ++one) {
    if (std::strncmp(*one, "LC_ALL=", 7) != 0) environment.push_back(*one);
  }
  environment.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                  arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT) {
    return absl::NotFoundError(
        absl::StrFormat("there is no program `%s`", words[0]));
  }
  if (failed != 0) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot start %s: %s", words[0], std::strerror(failed)));
  }
  to_out.Reset();
  Output output;
  output.text = ReadAll(out.get());
  out.Reset();  // of one that has too much to say
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR) {
  }
  if (errors.is_open() && lseek(errors.get(), 0, SEEK_SET) == 0) {
    output.errors = ReadAll(errors.get());
  }
  return output;
}

}  // namespace

std::vector<Instruction> InstructionsIn(const std::string& text,
                                        const CodeRange& range) {
  std::vector<Instruction> instructions;
  for (const absl::string_view each : absl::StrSplit(text, '\n')) {
    // "    1139:\tpush   %rbp".
    const absl::string_view line = absl::StripAsciiWhitespace(each);
    const std::size_t colon = line.find(":\t");
    if (colon == absl::string_view::npos) continue;
    std::uint64_t address = 0;
    const auto [end, error] =
        std::from_chars(line.data(), line.data() + colon, address, 16);
    if (error != std::errc() || end != line.data() + colon ||
        address < range.begin || address >= range.end) {
      continue;
    }
    instructions.push_back({address, std::string(line.substr(colon + 2))});
  }
  return instructions;
}

absl::StatusOr<std::vector<Instruction>> Disassemble(const CodeRange& range) {
  auto output = OutputOf(
      {kObjdump, "--disassemble", "--no-show-raw-insn", "--demangle",
       absl::StrFormat("--start-address=0x%x", range.begin),
       absl::StrFormat("--stop-address=0x%x", range.end), "--", range.path});
  if (!output.ok()) return output.status();
  auto instructions = InstructionsIn(output->text, range);
  if (!WIFEXITED(output->status) || WEXITSTATUS(output->status) != 0 ||
      instructions.empty()) {
    const std::string said(absl::StripAsciiWhitespace(output->errors));
    return absl::UnavailableError(absl::StrFormat(
        "objdump shows no code of %s at 0x%x: %s", base::EscapeName(range.path),
        range.begin,
        said.empty() ? "it says nothing" : base::EscapeName(said)));
  }
  return instructions;
}

}  // namespace countrace::rmap
