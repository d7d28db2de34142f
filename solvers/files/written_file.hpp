#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// What writes files: whole or not at all, and never through a name that somebody else has prepared.
namespace whilst::detail {

/// The absolute path of what `path` names once its links are followed, whether it is there or not. Throws whilst::error
/// where they form a circle.
std::filesystem::path resolved(const std::filesystem::path& path);

/// Where a path leads that is to be written. Devices, pipes and what this process has open (/dev/stdout, /dev/fd/3) are
/// streams, written to as they are; all else is a file, which is replaced.
class write_target {
 public:
  /// doing: what errors begin with, as "writing x.mtx". Throws whilst::error for a directory and for what is there and
  /// may not be written.
  write_target(const std::filesystem::path& path, std::string doing);

  bool is_stream() const { return is_stream_; }
  /// Links are resolved; of a stream the path as given.
  const std::filesystem::path& path() const { return path_; }
  /// Throws whilst::error where no file can be made beside this one, and leaves none behind.
  void require_folder() const;

 private:
  friend class written_file;
  int open_stream() const;
  /// Makes a file beside this one, readable for those who may read this one; sets its path.
  int open_neighbour(std::filesystem::path& neighbour) const;
  [[noreturn]] void refuse(int problem) const;

  std::string doing_;
  std::filesystem::path path_;
  /// The one of this process that the path names, or -1.
  int descriptor_ = -1;
  bool is_stream_ = false;
};

/// Text on its way to a target. A file gets it at finish(), whole, with the mode and, as far as permitted, the owner of
/// the one it replaces; it is untouched where finish() is not reached. A stream gets it at once.
class written_file {
 public:
  explicit written_file(const write_target& target);
  ~written_file();
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;

  /// Throws whilst::error where the text cannot be written.
  void write(std::string_view text);
  void finish();

 private:
  const write_target& target_;
  std::filesystem::path neighbour_;
  int descriptor_ = -1;
};

}  // namespace whilst::detail
