#include "logformat/import/program/file_service.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/posix/temporary_directory.h"

namespace countrace::importer {
namespace {

class FileServiceTest {
 public:
  FileServiceTest() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    parent_ = base::ScopedFd(ends[0]);
    program_ = base::ScopedFd(ends[1]);
    auto made = base::TemporaryDirectory::Create();
    REQUIRE(made.ok());
    directory_ = *std::move(made);
    std::filesystem::create_directory(Path("trace"));
    service_ = std::make_unique<FileService>(Path("trace"));
  }
  std::string Path(const std::string& name) const {
    return directory_->path() + "/" + name;
  }
  std::string Object(const std::string& name, int type) const {
    std::string bytes(sizeof(Elf64_Ehdr), '\0');
    bytes.replace(0, SELFMAG, ELFMAG);
    bytes[EI_CLASS] = ELFCLASS64;
    bytes[EI_DATA] = ELFDATA2LSB;
    bytes[EI_NIDENT] = static_cast<char>(type);
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  base::ScopedFd Request(FileRequest kind, const std::string& name) {
    base::ScopedFd file;
    int error = 0;
    std::thread program([&] {
      file = RequestFile(program_.get(), kind, name);
      error = errno;
    });
    bool answered = false;
    while (!answered) {
      char byte;
      answered = recv(parent_.get(), &byte, 1, MSG_PEEK) >= 0;
    }
    REQUIRE(service_->Answer(parent_.get()));
    program.join();
    errno = error;
    return file;
  }

 private:
  base::ScopedFd parent_, program_;
  std::unique_ptr<base::TemporaryDirectory> directory_;
  std::unique_ptr<FileService> service_;
};

}  // namespace

TEST_CASE("file service: makes files of the trace, once each",
          "[import][file_service]") {
  FileServiceTest test;
  const base::ScopedFd file = test.Request(FileRequest::kCreate, "thread-1-1");
  REQUIRE(file.is_open());
  CHECK(write(file.get(), "x", 1) == 1);
  CHECK(std::filesystem::file_size(test.Path("trace/thread-1-1")) == 1);
  CHECK_FALSE(test.Request(FileRequest::kCreate, "thread-1-1").is_open());
  CHECK(errno == EEXIST);
  std::filesystem::create_symlink(test.Path("outside"),
                                  test.Path("trace/link"));
  CHECK_FALSE(test.Request(FileRequest::kCreate, "link").is_open());
  CHECK_FALSE(std::filesystem::exists(test.Path("outside")));
}

TEST_CASE("file service: names are of files of the trace",
          "[import][file_service]") {
  FileServiceTest test;
  const std::string name =
      GENERATE(std::string(), std::string("."), std::string(".."),
               std::string("../outside"), std::string("/tmp/x"),
               std::string("a/b"), std::string("a\0b", 3), std::string("a\nb"),
               std::string(300, 'a'), std::string(5000, 'a'));
  CAPTURE(name);
  if (name.size() > 4096) {
    CHECK_FALSE(RequestFile(-1, FileRequest::kCreate, name).is_open());
    CHECK(errno == ENAMETOOLONG);
    return;
  }
  CHECK_FALSE(test.Request(FileRequest::kCreate, name).is_open());
  CHECK(errno == EINVAL);
}

TEST_CASE("file service: opens programs and libraries, and nothing else",
          "[import][file_service]") {
  FileServiceTest test;
  for (const int type : {ET_EXEC, ET_DYN}) {
    const base::ScopedFd file =
        test.Request(FileRequest::kObject, test.Object("object", type));
    REQUIRE(file.is_open());
    CHECK((fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDONLY);
  }
  std::ofstream(test.Path("text")) << std::string(1000, 'x');
  REQUIRE(mkfifo(test.Path("fifo").c_str(), 0600) == 0);
  const std::vector<std::string> refused = {test.Object("core", ET_CORE),
                                            test.Object("relocatable", ET_REL),
                                            test.Path("text"),
                                            test.Path("fifo"),
                                            test.Path("trace"),
                                            test.Path("nothing"),
                                            "/dev/zero",
                                            "/proc/self/environ",
                                            "/proc/kcore",
                                            "/etc/passwd",
                                            std::string("/bin/true\0", 10)};
  for (const std::string& path : refused) {
    CAPTURE(path);
    CHECK_FALSE(test.Request(FileRequest::kObject, path).is_open());
    CHECK(errno != 0);
  }
}

TEST_CASE("file service: of code made at run time opens files of such a name",
          "[import][file_service]") {
  FileServiceTest test;
  const auto may = [&](const std::string& path) {
    return test.Request(FileRequest::kJitFile, path).is_open();
  };
  const std::string path = test.Path("jit-5.dump");
  std::ofstream(path) << "bytes";
  CHECK(may(path));
  std::ofstream(test.Path("text")) << "bytes";
  CHECK_FALSE(may(test.Path("text")));
  CHECK(errno == EINVAL);
  CHECK_FALSE(may(path + std::string("\0.dump", 6)));
  std::filesystem::create_symlink(path, test.Path("jit-6.dump"));
  CHECK_FALSE(may(test.Path("jit-6.dump")));
  REQUIRE(mkfifo(test.Path("jit-7.dump").c_str(), 0600) == 0);
  CHECK_FALSE(may(test.Path("jit-7.dump")));
  CHECK(errno == EACCES);
  CHECK_FALSE(may(test.Path("jit-8.dump")));
  CHECK(errno == ENOENT);
  // No perf-PID.map but the one of a process in /tmp.
  std::ofstream(test.Path("perf-5.map")) << "bytes";
  CHECK_FALSE(may(test.Path("perf-5.map")));
  for (const char* const other :
       {"/tmp/perf-.map", "/tmp/perf-5.map.map", "/tmp/perf-../x.map"}) {
    CAPTURE(other);
    CHECK_FALSE(may(other));
    CHECK(errno == EINVAL);
  }
  CHECK_FALSE(may("/tmp/perf-999999999.map"));
  CHECK(errno == ENOENT);
  if (geteuid() != 0) return;
  REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
  CHECK_FALSE(may(path));
  CHECK(errno == EACCES);
}

TEST_CASE("file service: gives of the kernel only names of code",
          "[import][file_service]") {
  FileServiceTest test;
  CHECK(test.Request(FileRequest::kKernel, "kallsyms").is_open());
  for (const char* refused :
       {"", "kcore", "/proc/kallsyms", "module/", "module/..", "module/a/b",
        "module/../../etc", "kept/", "kept/..", "kept/ABC", "kept/ab/../cd"}) {
    CAPTURE(refused);
    CHECK_FALSE(test.Request(FileRequest::kKernel, refused).is_open());
    CHECK(errno == EINVAL);
  }
  CHECK_FALSE(test.Request(FileRequest::kKernel, "kept/0123").is_open());
  CHECK(errno == ENOENT);
}

TEST_CASE("file service: a closed end is the end", "[import][file_service]") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const base::ScopedFd parent(ends[0]);
  FileService service("/tmp");
  CHECK(service.Answer(parent.get()));  // nothing came yet
  close(ends[1]);
  CHECK_FALSE(service.Answer(parent.get()));
}

}  // namespace countrace::importer
