#include "whilst/linear/distributed/row_split.hpp"

#include <string>

#include "whilst/basics/error.hpp"

namespace whilst {

template <class T>
std::vector<T> row_split::scatter(std::span<const T> whole) const {
  const char* const scattering = "scattering a vector of rank 0";
  const bool has_it = ranks_.rank() == 0;
  ranks_.agree(scattering, [&] {
    if (has_it && static_cast<index_type>(whole.size()) != partition_.rows()) {
      throw error(scattering, "it has " + std::to_string(whole.size()) + " entries",
                  "Give one for each row of the matrix: " + std::to_string(partition_.rows()));
    }
  });
  const auto all = ranks_.all_gather<T>(scattering, has_it ? whole : std::span<const T>());
  std::vector<T> own;
  ranks_.agree(scattering, [&] {
    own.resize(static_cast<std::size_t>(partition_.rows_of(ranks_.rank())));
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = all.all[static_cast<std::size_t>(original_row(static_cast<index_type>(i)))];
  });
  return own;
}

template <class T>
std::vector<T> row_split::gather(std::span<const T> own) const {
  const char* const gathering = "gathering a vector";
  ranks_.agree(gathering, [&] {
    const index_type rows = partition_.rows_of(ranks_.rank());
    if (static_cast<index_type>(own.size()) != rows) {
      throw error(gathering, "there are " + std::to_string(own.size()) + " entries on this rank",
                  "Give one for each of its rows: " + std::to_string(rows));
    }
  });
  auto all = ranks_.all_gather<T>(gathering, own);
  if (keeps_order_) return std::move(all.all);
  const auto rows = ranks_.all_gather<std::int32_t>(gathering, std::span<const std::int32_t>(original_rows_));
  std::vector<T> whole;
  ranks_.agree(gathering, [&] {
    whole.resize(all.all.size());
    for (std::size_t k = 0; k < whole.size(); ++k) whole[static_cast<std::size_t>(rows.all[k])] = all.all[k];
  });
  return whole;
}

template std::vector<float> row_split::scatter(std::span<const float>) const;
template std::vector<double> row_split::scatter(std::span<const double>) const;
template std::vector<float> row_split::gather(std::span<const float>) const;
template std::vector<double> row_split::gather(std::span<const double>) const;

}  // namespace whilst
