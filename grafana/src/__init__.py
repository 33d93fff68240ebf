"""The dashboards as code; `python -m grafana.src` writes grafana/dashboards."""
