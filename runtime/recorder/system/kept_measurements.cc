#include "runtime/recorder/system/kept_measurements.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/posix/regular_file.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"

namespace countrace::runtime {
namespace {

constexpr char kFile[] = "measured", kUnfinished[] = "measured.new";
constexpr std::size_t kMostBytes = 256 << 10;

bool IsOurs(int fd, mode_t type) {
  struct stat info {};
  return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type &&
         info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

base::ScopedFd OpenFolder(const std::string& folder) {
  base::ScopedFd fd(
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.is_open() && !IsOurs(fd.get(), S_IFDIR)) fd.Reset();
  return fd;
}

// "KEY TAB 1 2 3"; an empty key: a damaged line.
std::pair<std::string, KeptMeasurements::Numbers> ParseLine(
    const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, '\t');
  if (parts.size() != 2) return {};
  KeptMeasurements::Numbers numbers;
  for (const absl::string_view text : absl::StrSplit(parts[1], ' ')) {
    if (!absl::SimpleAtoi(text, &numbers.emplace_back())) return {};
  }
  return {parts[0], std::move(numbers)};
}

}  // namespace

KeptMeasurements::KeptMeasurements(std::string folder, std::string first_line)
    : folder_(std::move(folder)), first_line_(std::move(first_line)) {
  const base::ScopedFd opened = OpenFolder(folder_);
  if (opened.is_open()) entries_ = Read(opened.get());
}

KeptMeasurements KeptMeasurements::OfThisBoot() {
  const uid_t user = geteuid();
  utsname kernel{};
  uname(&kernel);
  const auto boot = base::ReadSmallFile("/proc/sys/kernel/random/boot_id");
  return {user == 0 ? "/run/countrace"
                    : absl::StrFormat("/run/user/%d/countrace", user),
          absl::StrCat("1 ", boot.ok() ? boot->substr(0, 36) : "", " ",
                       kernel.release, " ", kernel.version)};
}

KeptMeasurements::Entries KeptMeasurements::Read(int folder) const {
  // Without waiting: it could be a pipe.
  const base::ScopedFd file(
      openat(folder, kFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() || !IsOurs(file.get(), S_IFREG)) return {};
  const auto text = base::ReadAll(file.get(), kMostBytes);
  if (!text.ok()) return {};
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  Entries entries;
  if (lines.front() != first_line_) return entries;
  // What stands behind the last end of a line is cut off.
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    auto entry = ParseLine(lines[i]);
    if (!entry.first.empty()) entries.push_back(std::move(entry));
  }
  return entries;
}

KeptMeasurements::Numbers KeptMeasurements::Find(const std::string& key) const {
  for (const auto& [of, numbers] : entries_) {
    if (of == key) return numbers;
  }
  return {};
}

bool KeptMeasurements::Store(const Entries& measured) const {
  (void)mkdir(folder_.c_str(), 0700);
  const base::ScopedFd folder = OpenFolder(folder_);
  if (!folder.is_open() || flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return false;
  }
  Entries all = measured;
  for (auto& entry : Read(folder.get())) {
    const bool is_new = std::none_of(
        measured.begin(), measured.end(),
        [&entry](const auto& other) { return other.first == entry.first; });
    if (is_new) all.push_back(std::move(entry));
  }
  if (all.size() > kMostKeys) all.resize(kMostKeys);
  std::string text = first_line_ + '\n';
  for (const auto& [key, numbers] : all) {
    if (key.find_first_of("\t\n") != std::string::npos) continue;
    absl::StrAppend(&text, key, "\t", absl::StrJoin(numbers, " "), "\n");
  }
  (void)unlinkat(folder.get(), kUnfinished, 0);
  const base::ScopedFd file(
      openat(folder.get(), kUnfinished,
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.is_open() &&
         write(file.get(), text.data(), text.size()) ==
             static_cast<ssize_t>(text.size()) &&
         renameat(folder.get(), kUnfinished, folder.get(), kFile) == 0;
}

}  // namespace countrace::runtime
