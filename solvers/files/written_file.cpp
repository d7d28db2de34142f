#include "solvers/files/written_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <random>
#include <system_error>
#include <utility>

#include "solvers/files/text_file.hpp"
#include "whilst/basics/error.hpp"

namespace whilst::detail {

namespace {

namespace fs = std::filesystem;

std::string reason_of(int problem) { return std::generic_category().message(problem); }

/// The descriptor of this process that an absolute path names, or -1.
int descriptor_named(const fs::path& place) {
  const std::string folder = place.parent_path().string(), name = place.filename().string();
  if (folder == "/dev") return name == "stdin" ? 0 : name == "stdout" ? 1 : name == "stderr" ? 2 : -1;
  if (folder != "/dev/fd" && folder != "/proc/self/fd" && folder != "/proc/" + std::to_string(::getpid()) + "/fd")
    return -1;
  int descriptor = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  return problem == std::errc{} && end == name.data() + name.size() ? descriptor : -1;
}

/// Where the links at the end of a path lead, or the first place on the way that is a descriptor of this process.
fs::path last_link_followed(const fs::path& path) {
  // As many consecutive links as the kernel follows.
  constexpr int most_links = 40;
  const std::string doing = "following the links of " + printable(path.string());
  fs::path place = fs::absolute(path);
  std::error_code problem;
  for (int links = 0; descriptor_named(place) < 0; ++links) {
    if (!fs::is_symlink(fs::symlink_status(place, problem))) return place;
    if (links == most_links) throw error(doing, "its symbolic links form a circle", "Give another path");
    const fs::path next = fs::read_symlink(place, problem);
    if (problem) throw error(doing, problem.message(), "Give another path");
    // Resolve the folder's own links first: ".." means something else after that.
    place = fs::weakly_canonical(place.parent_path(), problem) / next;
    if (problem) throw error(doing, problem.message(), "Give another path");
  }
  return place;
}

/// The mode of the existing file, or 0666 for open(2) to restrict.
mode_t mode_for(const struct stat* former) { return former != nullptr ? former->st_mode & 0777 : 0666; }

}  // namespace

fs::path resolved(const fs::path& path) {
  const fs::path place = last_link_followed(path);
  if (descriptor_named(place) >= 0) return place;
  std::error_code problem;
  const fs::path folder = fs::weakly_canonical(place.parent_path(), problem);
  return problem ? place : folder / place.filename();
}

// ---------------------------------------------------------------- where

write_target::write_target(const fs::path& path, std::string doing) : doing_(std::move(doing)), path_(resolved(path)) {
  descriptor_ = descriptor_named(path_);
  if (descriptor_ >= 0) {
    is_stream_ = true;
    const int flags = ::fcntl(descriptor_, F_GETFL);
    if (flags < 0) refuse(errno);
    if ((flags & O_ACCMODE) == O_RDONLY) throw error(doing_, "it is open for reading only", "Give another path");
    return;
  }
  std::error_code problem;
  const fs::file_status status = fs::status(path_, problem);
  if (fs::is_directory(status) || path_.filename().empty())
    throw error(doing_, "this is a directory", "Give a file name inside it");
  if (!fs::exists(status)) return;
  if (::access(path_.c_str(), W_OK) != 0) refuse(errno);
  is_stream_ = !fs::is_regular_file(status);
}

void write_target::refuse(int problem) const {
  throw error(doing_, reason_of(problem), "Change its permissions or give another path");
}

void write_target::require_folder() const {
  fs::path neighbour;
  ::close(open_neighbour(neighbour));
  ::unlink(neighbour.c_str());
}

int write_target::open_stream() const {
  // Opens only what was found: does not follow a link or overwrite a file that appeared meanwhile.
  const int descriptor = descriptor_ >= 0 ? ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)
                                          : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
  if (descriptor < 0) refuse(errno);
  struct stat status {};
  if (descriptor_ < 0 && (::fstat(descriptor, &status) != 0 || S_ISREG(status.st_mode))) {
    ::close(descriptor);
    throw error(doing_, "it has become a regular file meanwhile", "Run it again");
  }
  return descriptor;
}

int write_target::open_neighbour(fs::path& neighbour) const {
  struct stat former {};
  const bool replaces = ::lstat(path_.c_str(), &former) == 0 && S_ISREG(former.st_mode);
  // Like mkostemp, but the kernel applies the umask, which a library cannot query without changing it.
  std::random_device random;
  int descriptor = -1;
  do {
    const auto number = std::to_string((static_cast<unsigned long long>(random()) << 32) | random());
    neighbour = path_.parent_path() / (".whilst-" + number);
    descriptor = ::open(neighbour.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW,
                        mode_for(replaces ? &former : nullptr));
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) {
    const int problem = errno;
    throw error(doing_, "cannot write in " + path_.parent_path().string() + ": " + reason_of(problem),
                problem == ENOENT ? "Make that directory first" : "Give another path");
  }
  if (!replaces) return descriptor;
  // If the group cannot be kept, do not give its rights to another one.
  const bool kept = ::fchown(descriptor, former.st_uid, former.st_gid) == 0 ||
                    ::fchown(descriptor, static_cast<uid_t>(-1), former.st_gid) == 0;
  if (::fchmod(descriptor, mode_for(&former) & (kept ? 0777u : 0707u)) != 0) {
    const int problem = errno;
    ::close(descriptor);
    ::unlink(neighbour.c_str());
    refuse(problem);
  }
  return descriptor;
}

// ---------------------------------------------------------------- what

written_file::written_file(const write_target& target) : target_(target) {
  descriptor_ = target.is_stream() ? target.open_stream() : target.open_neighbour(neighbour_);
}

written_file::~written_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!neighbour_.empty()) ::unlink(neighbour_.c_str());
}

void written_file::write(std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw error(target_.doing_, reason_of(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void written_file::finish() {
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) throw error(target_.doing_, reason_of(errno));
  if (neighbour_.empty()) return;
  if (::rename(neighbour_.c_str(), target_.path_.c_str()) != 0) throw error(target_.doing_, reason_of(errno));
  neighbour_.clear();
}

}  // namespace whilst::detail
