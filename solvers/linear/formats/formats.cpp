#include "solvers/linear/formats/formats.hpp"

#include <algorithm>

#include "solvers/linear/formats/host_pattern.hpp"

namespace whilst {

std::vector<std::string> format_names() { return {"auto", "csr", "bsr", "sell", "ell", "balanced"}; }

void check_format(std::string_view doing, std::string_view format) {
  std::string all;
  for (const std::string& known : format_names()) {
    if (known == format) return;
    all.append(all.empty() ? "" : ", ").append(known);
  }
  throw error(doing, "there is no format called '" + std::string(format) + "'", "Use one of " + all);
}

bool is_format_for_kernels(std::string_view format) { return format == automatic_format || format == csr_format; }

template <class T>
std::unique_ptr<formatted_matrix<T>> make_formatted_matrix(std::string_view format, const csr_matrix<T>& pattern,
                                                           const solve_request<T>& csr, bool in_float) {
  if (format == "ell") return make_ell_matrix<T>(csr, in_float);
  check_stored_entries(format, std::max(pattern.rows(), pattern.nonzeros()));
  if (format == "bsr") return make_bsr_matrix<T>(pattern, csr);
  if (format == "balanced") return make_balanced_matrix<T>(pattern, csr);
  if (format == "sell") return make_sell_matrix<T>(pattern, csr, in_float);
  throw error("storing a matrix", "'" + std::string(format) + "' has no layout of its own",
              "Use bsr, sell, ell or balanced");
}

template std::unique_ptr<formatted_matrix<float>> make_formatted_matrix(std::string_view, const csr_matrix<float>&,
                                                                        const solve_request<float>&, bool);
template std::unique_ptr<formatted_matrix<double>> make_formatted_matrix(std::string_view, const csr_matrix<double>&,
                                                                         const solve_request<double>&, bool);

}  // namespace whilst
