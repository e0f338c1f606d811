"""A day's orders, once a day: Airflow runs the notebook and tries again on failure."""

from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    "orders",
    schedule="@daily",
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
):
    BashOperator(
        task_id="orders",
        cwd="/srv/orders",
        # each day is a run of its own; a retry goes on with that day's
        env={"NBRESUME_RUN": "orders {{ ds }}"},
        append_env=True,
        bash_command=(
            "nbresume run orders.ipynb -o out/{{ ds }}.ipynb -p day {{ ds }}"
            " --take-over --report out/{{ ds }}.json"
        ),
    )
