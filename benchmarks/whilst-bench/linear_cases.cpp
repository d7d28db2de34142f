#include "benchmarks/whilst-bench/linear_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "benchmarks/whilst-bench/suite.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/error.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear/recorded_solve.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst_bench {
namespace {

namespace fs = std::filesystem;
using strings = std::vector<std::string>;

/// A second or two for all methods on a processor; each symmetric kind of the gallery.
const strings small_set{"poisson1d:200",  "poisson2d:32",   "poisson3d:10",  "anisotropic2d:32",
                        "helmholtz2d:16", "elasticity2d:4", "elasticity3d:2"};

/// Without settings, which have commas as lists of names do.
const strings known_preconditioners = whilst::preconditioner_names();

/// What `all` stands for.
const strings& known_methods() {
  static const strings all = [] {
    strings names;
    for (const auto& method : whilst::linear_methods<double>()) names.push_back(method.name);
    return names;
  }();
  return all;
}

/// These, and "auto", which is none of all.
strings methods_of(const std::string& doing, const strings& wanted) {
  strings named = wanted;
  const bool has_automatic = std::erase(named, "auto") > 0;
  if (has_automatic && named.empty()) return {"auto"};
  named = chosen(doing, "method", named, known_methods());
  if (has_automatic) named.insert(named.begin(), "auto");
  return named;
}

bool takes_any_shape(const std::string& method) {
  const auto& all = whilst::linear_methods<double>();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& one) { return one.name == method && one.needs.transpose; });
}

bool ends_with_matrix(const std::string& name) { return name.ends_with(".mtx") || name.ends_with(".mtx.gz"); }
std::string without_ending(const std::string& path) { return path.substr(0, path.rfind(".mtx")); }

/// The right-hand side that lies beside a matrix, if there is one.
std::string neighbour(const std::string& matrix) {
  for (const char* ending : {"_b.mtx", "_b.mtx.gz", "_rhs1.mtx", "_rhs1.mtx.gz"}) {
    const std::string path = without_ending(matrix) + ending;
    if (fs::exists(path)) return path;
  }
  return "";
}

/// A rectangular matrix is for the methods that take one. One column is a vector.
void add_or_leave_out(linear_case one, const whilst::matrix_market_header& header, linear_cases& into) {
  const auto leave_out = [&](const char* why) {
    into.left_out.push_back({one.name, fmt::format("{} x {}, {}", header.rows, header.columns, why), false});
  };
  if (header.rows == 0 || header.columns == 0 || (header.columns == 1 && header.rows > 1))
    return leave_out("no system");
  if (header.rows != header.columns) {
    std::erase_if(one.methods, [](const std::string& method) { return !takes_any_shape(method); });
    if (one.methods.empty()) return leave_out("for none of the methods");
    one.is_rectangular = true;
  }
  into.all.push_back(std::move(one));
}

void add_folder(const std::string& folder, const linear_case& like, linear_cases& into) {
  const std::string doing = "--data " + folder;
  if (!fs::is_directory(folder)) throw whilst::error(doing, "there is no such folder", "Give one with .mtx files");
  strings files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && ends_with_matrix(entry.path().string())) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  strings rhs_files;
  for (const std::string& file : files) rhs_files.push_back(neighbour(file));
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (std::find(rhs_files.begin(), rhs_files.end(), files[k]) != rhs_files.end()) continue;
    linear_case one = like;
    one.name = without_ending(fs::path(files[k]).lexically_relative(folder).string());
    one.file = files[k];
    one.rhs = rhs_files[k];
    try {
      const whilst::matrix_market_header header = whilst::read_matrix_market_header(files[k]);
      add_or_leave_out(std::move(one), header, into);
    } catch (const whilst::error& problem) {
      into.left_out.push_back({one.name, problem.what()});
    }
  }
  if (into.all.empty() && into.left_out.empty())
    throw whilst::error(doing, "there is no .mtx or .mtx.gz file in it", "Give a folder with some");
}

void add_gallery(const std::string& name, const std::string& doing, linear_case like, linear_cases& into) {
  if (name == "small") {
    for (const std::string& one : small_set) add_gallery(one, doing, like, into);
    return;
  }
  const auto known = whilst::gallery_names();
  const std::string kind = name.substr(0, name.find(':'));
  if (kind == name || std::none_of(known.begin(), known.end(), [&](const auto& one) { return one.name == kind; })) {
    strings names;
    for (const auto& one : known) names.emplace_back(one.name);
    throw whilst::error(doing, fmt::format("there is no problem called \"{}\"", name),
                        fmt::format("Give small, or NAME:SIZE with a NAME of {}", fmt::join(names, ", ")));
  }
  like.name = like.gallery = name;
  into.all.push_back(std::move(like));
}

std::string text_in(const nlohmann::json& object, const char* key, const std::string& doing) {
  if (!object.contains(key)) return "";
  if (!object[key].is_string()) throw whilst::error(doing, fmt::format("\"{}\" is no text", key), "Put it in quotes");
  return object[key].get<std::string>();
}

strings names_in(const nlohmann::json& object, const char* key, const std::string& doing, const strings& otherwise) {
  if (!object.contains(key)) return otherwise;
  const nlohmann::json& list = object[key];
  if (!list.is_array() ||
      std::any_of(list.begin(), list.end(), [](const nlohmann::json& one) { return !one.is_string(); }))
    throw whilst::error(doing, fmt::format("\"{}\" is no list of names", key), "Write [\"cg\", \"minres\"]");
  return list.get<strings>();
}

void add_case(const nlohmann::json& object, const std::string& doing, const fs::path& folder, const linear_case& like,
              linear_cases& into) {
  static const strings keys{"filename", "gallery", "rhs", "methods", "preconditioners"};
  if (!object.is_object()) throw whilst::error(doing, "it is no object", "Write {\"filename\": \"A.mtx\"}");
  for (const auto& [key, value] : object.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw whilst::error(doing, fmt::format("there is no key \"{}\"", key),
                          fmt::format("Keys are {}", fmt::join(keys, ", ")));
  linear_case one = like;
  one.methods = methods_of(doing, names_in(object, "methods", doing, like.methods));
  one.preconditioners = chosen(doing, "preconditioner",
                               names_in(object, "preconditioners", doing, like.preconditioners), known_preconditioners);
  const std::string file = text_in(object, "filename", doing), gallery = text_in(object, "gallery", doing);
  if (file.empty() == gallery.empty())
    throw whilst::error(doing, file.empty() ? "it names no problem" : "it names two problems",
                        "Give either \"filename\" or \"gallery\"");
  const std::string rhs = text_in(object, "rhs", doing);
  if (!rhs.empty()) one.rhs = (folder / rhs).string();
  if (!gallery.empty()) return add_gallery(gallery, doing, one, into);
  one.name = without_ending(file);
  one.file = (folder / file).string();
  if (rhs.empty()) one.rhs = neighbour(one.file);
  if (!one.rhs.empty()) whilst::read_matrix_market_header(one.rhs);  // throws where there is none
  add_or_leave_out(one, whilst::read_matrix_market_header(one.file), into);
}

void add_list(const std::string& path, const linear_case& like, linear_cases& into) {
  const std::string doing = "--cases " + path;
  std::ifstream file(path);
  if (!file) throw whilst::error(doing, "the file cannot be read", "Give a JSON list of cases");
  nlohmann::json list;
  try {
    list = nlohmann::json::parse(file);
  } catch (const nlohmann::json::parse_error& problem) {
    throw whilst::error(doing, fmt::format("it is no JSON: {}", problem.what()), "Write a list of cases");
  }
  if (!list.is_array() || list.empty())
    throw whilst::error(doing, "it is no list with cases", "Write [{\"filename\": \"A.mtx\"}]");
  for (std::size_t k = 0; k < list.size(); ++k)
    add_case(list[k], fmt::format("{}, case {}", doing, k + 1), fs::path(path).parent_path(), like, into);
}

template <class T>
std::vector<T> times_ones(const whilst::csr_matrix<T>& A) {
  std::vector<T> b(static_cast<std::size_t>(A.rows()));
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    long double sum = 0;
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      sum += A.values()[static_cast<std::size_t>(k)];
    b[static_cast<std::size_t>(i)] = static_cast<T>(sum);
  }
  return b;
}

template <class T>
linear_system<T> load_matrix(const linear_case& from) {
  if (from.gallery.empty()) return {whilst::read_matrix<T>(from.file), {}, "ones-solution"};
  auto problem = whilst::make_gallery<T>(from.gallery);
  return {std::move(problem.matrix), std::move(problem.rhs), "gallery", problem.unknowns_a_node,
          std::move(problem.coordinates)};
}

}  // namespace

linear_cases find_linear_cases(const linear_options& options) {
  if (options.data.empty() && options.gallery.empty() && options.cases.empty())
    throw whilst::error("whilst-bench linear", "there is no system to solve",
                        "Give --data FOLDER, --gallery small or --cases FILE.json");
  linear_case like;
  like.methods = methods_of("--methods", options.methods);
  like.preconditioners = chosen("--preconditioners", "preconditioner", options.preconditioners, known_preconditioners);
  linear_cases result;
  if (!options.data.empty()) add_folder(options.data, like, result);
  for (const std::string& name : options.gallery) add_gallery(name, "--gallery " + name, like, result);
  if (!options.cases.empty()) add_list(options.cases, like, result);
  if (result.all.empty())
    throw whilst::error(options.data.empty() ? "--cases " + options.cases : "--data " + options.data,
                        "none of its files is a system that can be read, as: " + result.left_out.front().why,
                        "Give real matrices");
  return result;
}

template <class T>
linear_system<T> load_linear_case(const linear_case& from) {
  linear_system<T> system = load_matrix<T>(from);
  const whilst::index_type n = system.A.rows();
  if (n == 0 || system.A.columns() == 0)
    throw whilst::error("reading " + from.name, fmt::format("it is {} x {}", n, system.A.columns()),
                        "Give a matrix with rows and columns");
  if (!from.rhs.empty()) {
    system.b = whilst::read_vector<T>(from.rhs);
    system.right_side = "file";
    if (static_cast<whilst::index_type>(system.b.size()) != n)
      throw whilst::error("reading " + from.rhs, fmt::format("{} entries for {} rows", system.b.size(), n),
                          "Give one for each row");
  }
  if (system.b.empty()) system.b = times_ones(system.A);
  return system;
}

template linear_system<float> load_linear_case(const linear_case&);
template linear_system<double> load_linear_case(const linear_case&);

}  // namespace whilst_bench
