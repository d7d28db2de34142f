#include "apps/common/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "whilst/error.hpp"

namespace whilst::command {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int number) { return std::strerror(number); }

void write_text(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw error("opening " + path, reason_of(errno));
  errno = 0;
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  good = std::fflush(file) == 0 && good;
  const int number = errno;
  good = std::fclose(file) == 0 && good;
  if (!good) throw error("writing " + path, reason_of(number != 0 ? number : EIO));
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) throw error("renaming " + from + " to " + to, reason_of(errno));
}

/// Removes a file that may still be there when its life ends.
class temporary_file {
 public:
  explicit temporary_file(std::string path) : path_(std::move(path)) {}
  ~temporary_file() { ::unlink(path_.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string resolved(const std::string& path) {
  fs::path place = fs::absolute(path);
  // weakly_canonical leaves a link alone whose target is not there yet; so many links in a row are a circle.
  for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(place)); ++links) {
    place = place.parent_path() / fs::read_symlink(place);
  }
  return fs::weakly_canonical(place).string();
}

output_file::output_file(std::string option, const std::string& path) : option_(std::move(option)) {
  if (path.empty()) return;
  const std::string doing = option_ + " " + path;
  if (path == "-") {
    throw error(doing, "only --json writes to standard output with -", "Give a file name, or /dev/stdout");
  }
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (fs::is_directory(status)) throw error(doing, "this is a directory", "Give a file name inside it");
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0) {
    throw error(doing, reason_of(errno), "Change its permissions or give another path");
  }
  path_ = path;
  direct_ = fs::exists(status) && !fs::is_regular_file(status);
  if (direct_) return;
  target_ = resolved(path);
  // A neighbour is made and removed again, so that nothing is left behind by a run that is stopped.
  const std::string probe = neighbour();
  const int descriptor = ::open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int number = errno;
    throw error(doing, "cannot write in " + fs::path(target_).parent_path().string() + ": " + reason_of(number),
                number == ENOENT ? "Make that directory first" : "Give another path");
  }
  ::close(descriptor);
  ::unlink(probe.c_str());
}

std::string output_file::temporary() const {
  return (fs::temp_directory_path() / ("whilst-" + option_ + "." + std::to_string(::getpid()))).string();
}

std::string output_file::neighbour() const { return target_ + ".partial-" + std::to_string(::getpid()); }

void output_file::write(std::string_view text) const {
  attempt([&] {
    if (direct_) return write_text(path_, text);
    const temporary_file partial(neighbour());
    write_text(partial.path(), text);
    rename_file(partial.path(), target_);
  });
}

void output_file::write_with(const std::function<void(const std::string& path)>& writer) const {
  attempt([&] {
    if (!direct_) return writer(target_);
    const temporary_file whole(temporary());
    writer(whole.path());
    write_text(path_, text_of(whole.path()));
  });
}

void output_file::attempt(const std::function<void()>& writing) const {
  if (!wanted()) return;
  try {
    writing();
  } catch (const error& problem) {
    throw error(option_ + " " + path_ + ": " + problem.what());
  }
}

void require_different_files(const std::vector<input_file>& inputs, const std::vector<const output_file*>& outputs) {
  std::vector<std::pair<std::string, std::string>> taken;
  for (const auto& [name, path] : inputs) {
    if (!path.empty()) taken.emplace_back(name, resolved(path));
  }
  for (const output_file* file : outputs) {
    if (!file->wanted() || !file->replaces()) continue;
    for (const auto& [other, target] : taken) {
      if (target == file->target()) {
        throw error(file->option() + " " + file->path(), "this is the same file as " + other, "Give another path");
      }
    }
    taken.emplace_back(file->option(), file->target());
  }
}

}  // namespace whilst::command
