#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// Writes files: completely or not at all, and never through a name prepared by someone else.
namespace whilst::detail {

/// The absolute path that `path` names after following links, whether it exists or not. Throws whilst::error if they
/// form a circle.
std::filesystem::path resolved(const std::filesystem::path& path);

/// The target of a path to be written. Devices, pipes and open descriptors of this process (/dev/stdout, /dev/fd/3) are
/// streams, written directly; all else is a file, which is replaced.
class write_target {
 public:
  /// doing: the start of error messages, such as "writing x.mtx". Throws whilst::error for a directory and for an
  /// existing path that may not be written.
  write_target(const std::filesystem::path& path, std::string doing);

  bool is_stream() const { return is_stream_; }
  /// With links resolved; the path as given for a stream.
  const std::filesystem::path& path() const { return path_; }
  /// Throws whilst::error if no file can be created next to this one; leaves none behind.
  void require_folder() const;

 private:
  friend class written_file;
  int open_stream() const;
  /// Creates a file next to this one, readable by those who may read this one; sets its path.
  int open_neighbour(std::filesystem::path& neighbour) const;
  [[noreturn]] void refuse(int problem) const;

  std::string doing_;
  std::filesystem::path path_;
  /// The descriptor of this process that the path names, or -1.
  int descriptor_ = -1;
  bool is_stream_ = false;
};

/// Text on its way to a target. A file gets it at finish(), whole, with the mode and, as far as permitted, the owner of
/// the one it replaces; it stays untouched if finish() is not reached. A stream gets it at once.
class written_file {
 public:
  explicit written_file(const write_target& target);
  ~written_file();
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;

  /// Throws whilst::error if the text cannot be written.
  void write(std::string_view text);
  void finish();

 private:
  const write_target& target_;
  std::filesystem::path neighbour_;
  int descriptor_ = -1;
};

}  // namespace whilst::detail
