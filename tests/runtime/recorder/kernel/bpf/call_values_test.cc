// Values of system calls from their format files to the bytes of the trace.
#include "runtime/recorder/kernel/bpf/read/call_values.h"

#include <arpa/inet.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/bpf/read/socket_address.h"
#include "runtime/recorder/kernel/hooks/syscall_arguments.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;

constexpr char kOpenAt[] = R"(name: sys_enter_openat
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:int dfd;	offset:16;	size:8;	signed:0;
	field:const char * filename;	offset:24;	size:8;	signed:0;
	field:int flags;	offset:32;	size:8;	signed:0;
	field:umode_t mode;	offset:40;	size:8;	signed:0;
)";

std::string Described(std::string_view name, std::string_view format) {
  HookInfo hook;
  ParseSyscallFormat(name, format).Describe(hook);
  std::string text;
  for (const auto* names : {&hook.payload_names, &hook.exit_payload_names}) {
    for (const std::string& value : *names) text += value + ' ';
    text += '/';
  }
  CHECK(hook.payload.size() == hook.payload_names.size());
  CHECK(hook.exit_payload.size() == hook.exit_payload_names.size());
  return text;
}

std::string Fields(std::initializer_list<std::string> declarations) {
  std::string text = "\tfield:int __syscall_nr;\toffset:8;\n";
  for (const std::string& declaration : declarations) {
    text += "\tfield:" + declaration + ";\toffset:16;\tsize:8;\tsigned:0;\n";
  }
  return text;
}

TEST_CASE("a format file and the table say what a call's values are") {
  CHECK(Described("openat", kOpenAt) ==
        "dfd dir filename flags mode /file filename /");
  CHECK(Described("write", Fields({"unsigned int fd", "const char * buf",
                                   "size_t count"})) == "fd file buf count //");
  CHECK(Described("sendfile", Fields({"int out_fd", "int in_fd",
                                      "loff_t * offset", "size_t count"})) ==
        "out_fd file in_fd file_2 offset count //");
  CHECK(Described("dup", Fields({"unsigned int fildes"})) ==
        "fildes file /new_file /");
  CHECK(
      Described("dup2", Fields({"unsigned int oldfd", "unsigned int newfd"})) ==
      "oldfd file newfd /new_file /");
  CHECK(Described("close_range",
                  Fields({"unsigned int fd", "unsigned int max_fd"})) ==
        "fd max_fd //");
  CHECK(Described("getpid", Fields({})) == "//");
  CHECK(Described("connect", Fields({"int fd", "struct sockaddr * uservaddr",
                                     "int addrlen"})) ==
        "fd file uservaddr addrlen /uservaddr /");
  CHECK(Described("accept", Fields({"int fd", "struct sockaddr * address",
                                    "int * length"})) ==
        "fd file length /new_file address /");
  CHECK(Described("execve",
                  Fields({"const char * filename", "const char *const * argv",
                          "const char *const * envp"})) ==
        "filename envp /filename argv /");
}

// A value part or an entry of a ring.
struct Words {
  std::vector<std::byte> bytes;
  void Add(std::uint64_t word) {
    const auto* const at = reinterpret_cast<const std::byte*>(&word);
    bytes.insert(bytes.end(), at, at + 8);
  }
  void Add(std::string_view text) {
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    bytes.push_back(std::byte{0});
  }
};

struct Calls {
  std::vector<SyscallArguments> all = {ParseSyscallFormat("openat", kOpenAt)};
  CallValues values{&all};

  // What an enter of openat stores, without the mode.
  std::string Enter(std::uint64_t dfd, std::uint64_t folder,
                    std::uint64_t text_bytes, std::string_view text) {
    Words words;
    words.Add(text_bytes << 16);
    for (const std::uint64_t word : {dfd, std::uint64_t{1}, std::uint64_t{2},
                                     ~std::uint64_t{0} << 16 | 0644u, folder}) {
      words.Add(word);
    }
    words.Add(text);
    return std::string(values.Convert(0, false, words.bytes));
  }
  void Define(std::uint64_t number, std::uint64_t flags,
              std::uint64_t file_system, std::string_view names) {
    Words words;
    words.Add(std::uint64_t{0});
    words.Add(number | flags << 16 | names.size() << 32);
    words.Add(77);
    words.Add(file_system);
    words.Add(names);
    values.Define(words.bytes);
  }
  std::string Folder(std::uint64_t number) {
    const std::string all_values = Enter(3, number + 1, 2, "x");
    return all_values.substr(8, all_values.find('\0', 8) - 8);
  }
};

template <typename Address>
std::string Bytes(const Address& address) {
  return {reinterpret_cast<const char*>(&address), sizeof(address)};
}

TEST_CASE("addresses of sockets are text") {
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_port = htons(80);
  inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(SocketAddressText(Bytes(inet)) == "127.0.0.1:80");
  CHECK(SocketAddressText(Bytes(inet).substr(0, 15)) == "family 2");
  sockaddr_in6 inet6{};
  inet6.sin6_family = AF_INET6;
  inet6.sin6_port = htons(443);
  inet6.sin6_addr = in6addr_loopback;
  CHECK(SocketAddressText(Bytes(inet6)) == "[::1]:443");
  inet6.sin6_scope_id = 2;
  CHECK(SocketAddressText(Bytes(inet6)) == "[::1%2]:443");
  const std::string local("\1\0", 2);
  CHECK(SocketAddressText(local) == "unix:");
  CHECK(SocketAddressText(local + "/run/x") == "unix:/run/x");
  CHECK(SocketAddressText(local + std::string("/x\0more", 7)) == "unix:/x");
  CHECK(SocketAddressText(local + std::string("\0a\0b", 4)) == "unix:@a@b");
  CHECK(SocketAddressText(std::string("\21\0", 2)) == "family 17");
  CHECK(SocketAddressText("\1") == "family ?");
}

TEST_CASE("addresses and words stand where the call has them") {
  std::vector<SyscallArguments> all = {
      ParseSyscallFormat(
          "accept",
          Fields({"int fd", "struct sockaddr * address", "int * length"})),
      ParseSyscallFormat("execve", Fields({"const char * filename",
                                           "const char *const * argv"}))};
  CallValues values(&all);
  Words exit;
  exit.Add(std::uint64_t{8} << 16);
  exit.Add(std::uint64_t{0});  // the file of the new descriptor
  exit.Add(std::string_view("\1\0/sock", 8));
  CHECK(values.Convert(0, true, exit.bytes) ==
        std::string_view("\0unix:/sock\0", 12));
  Words executed;
  executed.Add(std::uint64_t{3} << 16 | std::uint64_t{5} << 32);
  executed.Add(std::string_view("/x"));
  executed.Add(std::string_view("x\0-l", 4));
  CHECK(values.Convert(1, true, executed.bytes) ==
        std::string_view("/x\0x -l\0", 8));
}

TEST_CASE("a file whose name had no room is not one that is closed") {
  Calls calls;
  const auto folder = [&](std::uint64_t number) {
    const std::string bytes = calls.Enter(3, number, 2, "x");
    return bytes.substr(8, bytes.find('\0', 8) - 8);
  };
  CHECK(folder(0).empty());
  CHECK(calls.values.unreadable() == 0);
  CHECK(folder(COUNTRACE_FILE_UNNAMED) == "(unreadable)");
  CHECK(calls.values.unreadable() == 1);
}

TEST_CASE("numbers have the width of their C type") {
  Calls calls;
  const std::string bytes = calls.Enter(0xffffff9c, 0, 4, "abc");
  std::int64_t dfd = 0, mode = 0;
  std::memcpy(&dfd, bytes.data(), 8);
  std::memcpy(&mode, bytes.data() + bytes.size() - 8, 8);
  CHECK(dfd == -100);
  CHECK(mode == 0644);
  CHECK(bytes.substr(8, 5) == std::string("\0abc\0", 5));
}

TEST_CASE("texts are cut, null or unreadable, and each is counted") {
  Calls calls;
  const auto text_of = [](const std::string& bytes) {
    return bytes.substr(9, bytes.find('\0', 9) - 9);
  };
  for (const std::size_t length : {0, 1, 127, 128}) {
    const std::string text(length, 'x');
    CHECK(text_of(calls.Enter(3, 0, length + 1, text)) == text);
  }
  CHECK(calls.values.cut() == 0);
  CHECK(text_of(calls.Enter(3, 0, 130, std::string(129, 'x'))) ==
        std::string(127, 'x') + "...");
  CHECK(calls.values.cut() == 1);
  CHECK(text_of(calls.Enter(3, 0, 0, "")) == "(null)");
  CHECK(text_of(calls.Enter(3, 0, COUNTRACE_CALL_UNREADABLE, "")) ==
        "(unreadable)");
  // The exit may still read it.
  CHECK(calls.values.unreadable() == 0);
  Words exit;
  exit.Add(std::uint64_t{COUNTRACE_CALL_UNREADABLE} << 16);
  exit.Add(std::uint64_t{0});
  CHECK(calls.values.Convert(0, true, exit.bytes) ==
        std::string_view("\0(unreadable)\0", 14));
  CHECK(calls.values.unreadable() == 1);
}

TEST_CASE("files have the names that /proc shows") {
  Calls calls;
  calls.Define(5, 0, EXT4_SUPER_MAGIC, std::string_view("passwd\0etc\0", 11));
  CHECK(calls.Folder(5) == "/etc/passwd");
  calls.Define(5, 0, EXT4_SUPER_MAGIC, "");
  CHECK(calls.Folder(5) == "/");
  calls.Define(6, COUNTRACE_FILE_UNLINKED, TMPFS_MAGIC,
               std::string_view("x\0tmp\0", 6));
  CHECK(calls.Folder(6) == "/tmp/x (deleted)");
  calls.Define(7, COUNTRACE_FILE_CUT, TMPFS_MAGIC,
               std::string_view("x\0deep\0", 7));
  CHECK(calls.Folder(7) == ".../deep/x");
  calls.Define(8, 0, PIPEFS_MAGIC, "");
  CHECK(calls.Folder(8) == "pipe:[77]");
  calls.Define(9, 0, ANON_INODE_FS_MAGIC,
               std::string_view("[eventpoll]\0", 12));
  CHECK(calls.Folder(9) == "anon_inode:[eventpoll]");
  // Not defined; no such number.
  CHECK(calls.Folder(10).empty());
  CHECK(calls.Folder(COUNTRACE_FILE_NUMBERS + 1).empty());
}

TEST_CASE("a value part that is too short gives values, and reads no further") {
  Calls calls;
  for (std::size_t bytes = 0; bytes < 64; ++bytes) {
    const std::vector<std::byte> part(bytes, std::byte{0xff});
    (void)calls.values.Convert(0, false, part);
    (void)calls.values.Convert(0, true, part);
    calls.values.Define(part);
  }
}

}  // namespace
}  // namespace countrace::runtime
